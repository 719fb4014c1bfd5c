//===- Commands.h - what dist-ckpt does -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTCKPT_COMMANDS_H
#define MESHWRIGHT_TOOLS_DISTCKPT_COMMANDS_H

#include "Options.h"

namespace meshwright::tool {

/// Runs the command of the options; what it finds goes to standard output.
runtime::Status runCommand(const CheckpointOptions &options);

} // namespace meshwright::tool

#endif
