//===- EscapeText.h - text of other processes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_ESCAPETEXT_H
#define MESHWRIGHT_RUNTIME_ESCAPETEXT_H

#include <string>
#include <string_view>

namespace meshwright::runtime {

/// The text as it may be written to a terminal: control characters (those of Latin-1 in UTF-8 included) and bytes that
/// are no UTF-8 become `\x1b`. More than `maxBytes` of the text are cut off, and `...` says so.
std::string escapeText(std::string_view text, size_t maxBytes = 16384);

} // namespace meshwright::runtime

#endif
