//===- ContentHash.cpp - hashes of a package's files ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include <array>
#include <bit>
#include <cstring>

using namespace meshwright;

static_assert(std::endian::native == std::endian::little, "packages are little-endian");

namespace {

struct State {
  uint64_t value;

  void step(uint64_t word) {
    value = (value ^ word) * 0xff51afd7ed558ccd;
    value ^= value >> 32;
  }
};

/// Field 31 of `Package`, a fixed64: the number and the wire type, as a varint of two bytes.
constexpr std::array<char, 2> kHashTag = {static_cast<char>(((31 << 3 | 1) & 0x7f) | 0x80), 31 << 3 >> 7};
constexpr size_t kSealBytes = kHashTag.size() + sizeof(uint64_t);

uint64_t readWord(const std::byte *bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

} // namespace

uint64_t meshwright::hashContent(std::span<const std::byte> bytes) {
  constexpr uint64_t begin = 0x9e3779b97f4a7c15;
  State states[4] = {{begin}, {2 * begin}, {3 * begin}, {4 * begin}};
  const std::byte *at = bytes.data();
  size_t left = bytes.size();
  // The four states do not wait for each other.
  for (; left >= 32; at += 32, left -= 32)
    for (int i = 0; i != 4; ++i)
      states[i].step(readWord(at + 8 * i));
  if (left != 0) {
    std::byte padded[32] = {};
    std::memcpy(padded, at, left);
    for (size_t i = 0; 8 * i < left; ++i)
      states[i].step(readWord(padded + 8 * i));
  }
  State whole{bytes.size()};
  for (const State &state : states)
    whole.step(state.value);
  return whole.value;
}

uint64_t meshwright::hashContent(std::string_view bytes) { return hashContent(std::as_bytes(std::span(bytes))); }

std::string meshwright::formatHash(uint64_t hash) {
  std::string text(16, '0');
  for (size_t i = text.size(); i-- != 0; hash >>= 4)
    text[i] = "0123456789abcdef"[hash & 15];
  return text;
}

std::string meshwright::sealPackage(std::string message) {
  uint64_t hash = hashContent(message);
  message.append(kHashTag.data(), kHashTag.size());
  return message.append(reinterpret_cast<const char *>(&hash), sizeof(hash));
}

std::optional<PackageSeal> meshwright::findSeal(std::span<const std::byte> package) {
  if (package.size() < kSealBytes)
    return std::nullopt;
  size_t content = package.size() - kSealBytes;
  if (std::memcmp(package.data() + content, kHashTag.data(), kHashTag.size()) != 0)
    return std::nullopt;
  return PackageSeal{content, readWord(package.data() + content + kHashTag.size())};
}
