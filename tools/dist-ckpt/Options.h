//===- Options.h - the command line of dist-ckpt ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTCKPT_OPTIONS_H
#define MESHWRIGHT_TOOLS_DISTCKPT_OPTIONS_H

#include "meshwright/runtime/Tensor.h"
#include <cstdint>
#include <vector>

namespace meshwright::tool {

/// Options of the command line; the help text documents each.
struct CheckpointOptions {
  std::string command;
  std::vector<std::string> paths;
  /// The type that floats are rounded to by export.
  std::optional<DType> type;
  uint64_t shard = 5'000'000'000, step = 0;
  bool parameters = false, help = false, version = false;
};

/// Parses the command line. Errors are of wrong usage.
runtime::Result<CheckpointOptions> parseOptions(int argc, const char *const *argv);
/// The text of --help.
std::string getHelp();

} // namespace meshwright::tool

#endif
