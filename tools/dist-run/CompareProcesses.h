//===- CompareProcesses.h - what all processes have in common ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All processes of a run do the same with the same. On several hosts a path may stand for other bytes on each, and
// hosts may compute with other instructions; replicas of a value would differ from the first step on. So everything
// that a step depends on is compared before the first one. All functions return at once in a run of one process, and an
// error on all processes where two have something else. The first process and the first one that differs from it are
// named.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_COMPAREPROCESSES_H
#define MESHWRIGHT_TOOLS_DISTRUN_COMPAREPROCESSES_H

#include "Options.h"
#include "meshwright/runtime/Checkpoint.h"
#include "meshwright/runtime/Session.h"

namespace meshwright::tool {

/// The command lines, word by word.
runtime::Status compareCommands(const Options &options, runtime::World &world);
/// The hashes that stand in the packages.
runtime::Status comparePackages(const runtime::LoadedPackage &package, runtime::World &world);
/// The files that every process reads: initial values, feeds of one file, data.
runtime::Status compareFiles(const Options &options, runtime::World &world);
/// The checkpoint that the run goes on from, by its index, which has the checksums of its files.
runtime::Status compareCheckpoints(const std::optional<runtime::Checkpoint> &checkpoint, runtime::World &world);
/// The kernels and the instructions of the library of products, unless the command line lets them differ.
runtime::Status compareKernels(const runtime::Session &session, const Options &options);

/// `12800 bytes with hash 0123456789abcdef`, or why there is no such file. A file of more than 16 MiB is hashed at 64
/// places of 64 KiB, spread from its beginning to its end.
std::string describeFile(const std::string &path);

} // namespace meshwright::tool

#endif
