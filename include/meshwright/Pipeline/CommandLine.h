//===- CommandLine.h - the command line of a whole compilation ---*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_COMMANDLINE_H
#define MESHWRIGHT_PIPELINE_COMMANDLINE_H

#include "meshwright/Pipeline/Compile.h"

namespace meshwright {

/// True if the arguments ask for a whole compilation (`--strategy`, `--emit`, `--from`, …) rather than for single
/// passes.
bool isCompileCommand(int argc, char **argv);

/// Runs `dist-opt` on such arguments, including `--help`, `--version` and `--print-strategy`. Returns the exit code.
int runCompileCommand(int argc, char **argv, const mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
