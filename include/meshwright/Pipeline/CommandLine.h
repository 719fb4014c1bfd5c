//===- CommandLine.h - what users type --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_COMMANDLINE_H
#define MESHWRIGHT_PIPELINE_COMMANDLINE_H

#include "meshwright/Pipeline/Compile.h"

namespace meshwright {

/// Whether the arguments ask for the whole way (`--strategy`, `--emit`, `--from`, …) and not for single passes.
bool isCompileCommand(int argc, char **argv);

/// Runs `dist-opt` on such arguments, `--help`, `--version` and `--print-strategy` included. Returns the exit code.
int runCompileCommand(int argc, char **argv, const mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
