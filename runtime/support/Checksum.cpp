//===- Checksum.cpp - checksums of files ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CRC-32C, bits reflected: the polynomial is 0x1edc6f41, the register begins and ends inverted. x86 has an instruction
// for it since SSE 4.2.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Checksum.h"
#include <array>
#include <cstring>
#include <fmt/format.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

using namespace meshwright::runtime;

/// tables[k][b]: what byte b does to the register when k bytes follow it.
static constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> result{};
  for (uint32_t byte = 0; byte != 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit != 8; ++bit)
      value = (value >> 1) ^ (value & 1 ? 0x82f63b78u : 0);
    result[0][byte] = value;
  }
  for (size_t k = 1; k != 8; ++k)
    for (size_t byte = 0; byte != 256; ++byte)
      result[k][byte] = (result[k - 1][byte] >> 8) ^ result[0][result[k - 1][byte] & 0xff];
  return result;
}();

uint32_t meshwright::runtime::computeChecksumByTables(std::span<const std::byte> bytes) {
  uint32_t value = ~0u;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= value;
    value = 0;
    for (int k = 0; k != 8; ++k)
      value ^= tables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (std::byte byte : bytes)
    value = (value >> 8) ^ tables[0][(value ^ static_cast<uint32_t>(byte)) & 0xff];
  return ~value;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t computeByInstruction(std::span<const std::byte> bytes) {
  uint64_t value = 0xffffffff;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    value = _mm_crc32_u64(value, word);
  }
  auto last = static_cast<uint32_t>(value);
  for (std::byte byte : bytes)
    last = _mm_crc32_u8(last, static_cast<uint8_t>(byte));
  return ~last;
}
#endif

uint32_t meshwright::runtime::computeChecksum(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2"))
    return computeByInstruction(bytes);
#endif
  return computeChecksumByTables(bytes);
}

std::string meshwright::runtime::formatChecksum(uint32_t checksum) { return fmt::format("crc32c:{:08x}", checksum); }
