//===- Sha256.cpp - proofs of a shared secret -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Sha256.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

using namespace meshwright::runtime;

/// FIPS 180-4, 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes.
static constexpr uint32_t kConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t readBigEndian(const unsigned char *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

void Sha256::addBlock(const unsigned char *bytes) {
  uint32_t words[64];
  for (int i = 0; i != 16; ++i)
    words[i] = readBigEndian(bytes + 4 * i);
  for (int i = 16; i != 64; ++i) {
    uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i != 64; ++i) {
    uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kConstants[i] + words[i];
    uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const uint32_t added[] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i != 8; ++i)
    state[i] += added[i];
}

Sha256 &Sha256::add(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t filled = size % block.size(), count = std::min(bytes.size(), block.size() - filled);
    std::memcpy(block.data() + filled, bytes.data(), count);
    size += count;
    bytes.remove_prefix(count);
    if (filled + count == block.size())
      addBlock(block.data());
  }
  return *this;
}

Digest Sha256::finish() {
  // A one, zeros, and the number of bits, up to the end of a block.
  uint64_t bits = size * 8;
  std::string padding(1 + (119 - size % 64) % 64, '\0');
  padding[0] = static_cast<char>(0x80);
  for (int shift = 56; shift >= 0; shift -= 8)
    padding += static_cast<char>(bits >> shift);
  add(padding);
  Digest digest;
  for (size_t i = 0; i != digest.size(); ++i)
    digest[i] = static_cast<unsigned char>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest meshwright::runtime::computeHmac(std::string_view key, std::string_view message) {
  std::string padded(64, '\0');
  Digest hashed;
  if (key.size() > padded.size()) {
    hashed = Sha256().add(key).finish();
    key = toBytes(hashed);
  }
  std::copy(key.begin(), key.end(), padded.begin());
  std::string inner = padded, outer = padded;
  for (size_t i = 0; i != padded.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ 0x36);
    outer[i] = static_cast<char>(outer[i] ^ 0x5c);
  }
  Digest digest = Sha256().add(inner).add(message).finish();
  return Sha256().add(outer).add(toBytes(digest)).finish();
}

bool meshwright::runtime::areEqualInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i != a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}
