//===- Sha256.h - proofs of a shared secret ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 as in FIPS 180-4, sections 4.1.2, 4.2.2, 5 and 6.2, and HMAC as in RFC 2104. They are used on a few hundred
// bytes when processes meet, so they are plain code, and no library is wanted for them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SHA256_H
#define MESHWRIGHT_RUNTIME_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace meshwright::runtime {

using Digest = std::array<unsigned char, 32>;

/// SHA-256 of bytes that come in parts.
class Sha256 {
public:
  Sha256 &add(std::string_view bytes);
  /// The digest of all that was added; nothing may be added afterwards.
  Digest finish();

private:
  void addBlock(const unsigned char *block);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block = {};
  uint64_t size = 0;
};

/// The bytes of a digest, to be hashed or sent.
inline std::string_view toBytes(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

/// HMAC-SHA-256 of the message.
Digest computeHmac(std::string_view key, std::string_view message);

/// True if both are the same, computed in a time that does not depend on where they differ.
bool areEqualInConstantTime(std::string_view a, std::string_view b);

} // namespace meshwright::runtime

#endif
