//===- SelfTestData.h - operands and results by a formula -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank knows what every other one brings, so that each can say alone what it has to get. Values repeat after a
// period, a prime number: what is expected of millions of elements is computed once for each of them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SELFTEST_SELFTESTDATA_H
#define MESHWRIGHT_RUNTIME_SELFTEST_SELFTESTDATA_H

#include "SelfTestCases.h"
#include <span>

namespace meshwright::runtime {

/// Elements of which element i is that of i modulo their number.
class PeriodicValues {
public:
  static constexpr uint64_t period = 8191;

  PeriodicValues(DType type, std::vector<std::byte> elements) : type(type), elements(std::move(elements)) {}

  /// Writes elements from `first` on.
  void write(uint64_t first, std::span<std::byte> to) const;
  /// How many of the elements of `found` are others than those from `first` on, and the first such one.
  uint64_t countWrong(uint64_t first, std::span<const std::byte> found, uint64_t &firstWrong) const;
  /// As in messages: value and bits.
  std::string format(uint64_t index) const;

private:
  DType type;
  std::vector<std::byte> elements;
};

/// An element as in messages: its value and its bits.
std::string formatElement(DType type, const std::byte *element);

/// A rank's operand for a part: numbers whose sums are rounded in floats, so that the order of a sum shows, and whose
/// products stay within them. The first `elements` are wanted.
PeriodicValues makeOperand(const SelfTestCase &test, uint32_t part, int64_t rank, uint64_t elements);
/// The reduction of what the members bring, in their order.
PeriodicValues makeReduced(const SelfTestCase &test, uint32_t part, std::span<const int64_t> members,
                           uint64_t elements);

} // namespace meshwright::runtime

#endif
