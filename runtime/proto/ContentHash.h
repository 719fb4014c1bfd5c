//===- ContentHash.h - hashes of a package's files --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of the schema: the compiler writes these hashes, the runtime compares them with the files that it reads, and the
// processes of a run compare them with each other. They find damage and mistakes; they are no protection against a
// package that is changed on purpose.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PROTO_CONTENTHASH_H
#define MESHWRIGHT_RUNTIME_PROTO_CONTENTHASH_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace meshwright {

/// 64 bits of the bytes, a few bytes per cycle. Word i (64 bits, little-endian; the last one padded with zeros) goes
/// into state i mod 4:
///
///   step(state, word):  state = (state ^ word) * 0xff51afd7ed558ccd mod 2^64;  state ^= state >> 32
///
/// States begin at 0x9e3779b97f4a7c15 times 1 to 4. The hash is a fifth state, begun at the number of bytes, after a
/// step with each of the four. A step is a bijection of the state and of the word, so a change within one word always
/// changes its state; other changes go unnoticed once in 2^64.
uint64_t hashContent(std::span<const std::byte> bytes);
uint64_t hashContent(std::string_view bytes);

/// As messages spell it: 16 hexadecimal digits.
std::string formatHash(uint64_t hash);

/// The bytes of `package.pb` for a serialized `Package` without a hash: the message, followed by the field `hash`
/// with the hash of all bytes before it.
std::string sealPackage(std::string message);

/// The number of bytes before the field `hash` at the end of a sealed package, and the hash in it; nothing where the
/// bytes do not end with that field.
struct PackageSeal {
  size_t contentBytes;
  uint64_t hash;
};
std::optional<PackageSeal> findSeal(std::span<const std::byte> package);

} // namespace meshwright

#endif
