//===- EscapeText.cpp - text of other processes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/EscapeText.h"
#include <cstdint>
#include <fmt/format.h>

using namespace meshwright::runtime;

/// The number of UTF-8 bytes of the printable character that the text starts with; 0 if it starts with none.
static size_t getCharacterBytes(std::string_view text) {
  auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f;
  size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size)
    return 0;
  uint32_t code = lead & (0x7f >> size);
  for (size_t i = 1; i != size; ++i) {
    auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 2)
      return 0;
    code = code << 6 | (next & 0x3f);
  }
  // Longer than it need be, half of a pair, beyond the last one, or a control character.
  constexpr uint32_t smallest[] = {0, 0, 0xa0, 0x800, 0x10000};
  bool isCharacter = code >= smallest[size] && (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff;
  return isCharacter ? size : 0;
}

std::string meshwright::runtime::escapeText(std::string_view text, size_t maxBytes) {
  bool isCut = text.size() > maxBytes;
  text = text.substr(0, maxBytes);
  std::string escaped;
  while (!text.empty()) {
    size_t size = getCharacterBytes(text);
    if (size == 0)
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else
      escaped += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return isCut ? escaped + "..." : escaped;
}
