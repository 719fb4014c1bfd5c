//===- Command.h - what dist-run does -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_COMMAND_H
#define MESHWRIGHT_TOOLS_DISTRUN_COMMAND_H

namespace meshwright::tool {

/// Does what the command line says and prints errors. Returns the exit status.
int runCommand(int argc, char **argv);

} // namespace meshwright::tool

#endif
