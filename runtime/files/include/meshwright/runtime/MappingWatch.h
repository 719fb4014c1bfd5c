//===- MappingWatch.h - mappings that a handler knows ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MAPPINGWATCH_H
#define MESHWRIGHT_RUNTIME_MAPPINGWATCH_H

#include "meshwright/runtime/MappedFiles.h"
#include <cstddef>
#include <span>
#include <string>

namespace meshwright::runtime {

/// Between these calls the handler that `exitWhereFilesShrink` installs knows which file `bytes` are mapped from. They
/// are forgotten before they are unmapped.
void watchMapping(std::span<const std::byte> bytes, const std::string &path);
void forgetMapping(std::span<const std::byte> bytes);

} // namespace meshwright::runtime

#endif
