//===- Random.h - reproducible random cases for tests -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RANDOM_H
#define MESHWRIGHT_TEST_UNIT_RANDOM_H

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace meshwright::test {

/// Random numbers that are the same on every machine. The seed comes from MESHWRIGHT_TEST_SEED, else it is fixed; tests
/// put `describe()` into a SCOPED_TRACE, so that a failure can be repeated.
class Random {
public:
  explicit Random(uint64_t salt = 0) : seed(readSeed()), engine(seed * 1000003 + salt) {}

  /// A number between `low` and `high`, both included.
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  /// Returns true with a probability of `percent`.
  bool chance(int percent) { return pick(1, 100) <= percent; }
  /// An element of `choices`, which is not empty.
  template <typename T> const T &choose(const std::vector<T> &choices) {
    return choices[pick(0, static_cast<int64_t>(choices.size()) - 1)];
  }
  std::string describe(int64_t round) const {
    return "MESHWRIGHT_TEST_SEED=" + std::to_string(seed) + ", round " + std::to_string(round);
  }

private:
  static uint64_t readSeed() {
    const char *text = std::getenv("MESHWRIGHT_TEST_SEED");
    return text ? std::strtoull(text, nullptr, 10) : 1;
  }
  uint64_t seed;
  std::mt19937_64 engine;
};

} // namespace meshwright::test

#endif
