//===- Checksum.h - checksums of files --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CHECKSUM_H
#define MESHWRIGHT_RUNTIME_CHECKSUM_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace meshwright::runtime {

/// CRC-32C (Castagnoli) of the bytes: finds every burst of up to 32 wrong bits, and other damage but once in 2^32.
uint32_t computeChecksum(std::span<const std::byte> bytes);
/// The same by tables alone, whatever the CPU has.
uint32_t computeChecksumByTables(std::span<const std::byte> bytes);
/// As files spell it: `crc32c:e3069283`.
std::string formatChecksum(uint32_t checksum);

} // namespace meshwright::runtime

#endif
