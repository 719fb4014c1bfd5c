//===- SelfTestData.cpp - operands and results by a formula ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands follow from the seed, the part, the rank and the index; expected results are reduced here in the order of
// the members, one element at a time, independently of the reductions under test.
//
//===----------------------------------------------------------------------===//

#include "SelfTestData.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

/// The values at which reductions of floats differ most often: at some indices all members have -0, at others a zero of
/// either sign, or now and then NaN.
static std::optional<float> getSpecialValue(uint64_t bits, uint64_t index) {
  switch (index % 31) {
  case 3:
    return -0.0f;
  case 11:
    return bits & 1 ? -0.0f : 0.0f;
  case 19:
    return bits % 3 == 0 ? std::optional(std::numeric_limits<float>::quiet_NaN()) : std::nullopt;
  default:
    return std::nullopt;
  }
}

template <typename T> static T getValue(const SelfTestCase &test, uint32_t part, int64_t rank, uint64_t index) {
  uint64_t bits = mixBits((static_cast<uint64_t>(rank) * 16 + part) * PeriodicValues::period + index);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(test.type == I1 ? bits & 1 : bits);
  } else {
    std::optional<float> special = isReducing(test.kind) ? getSpecialValue(bits, index) : std::nullopt;
    if (special)
      return static_cast<T>(*special);
    auto fraction = static_cast<double>(bits % 2001) / 1000;
    if (isReducing(test.kind) && test.reduction == Collective::PRODUCT)
      return static_cast<T>(static_cast<float>((bits >> 32 & 1 ? 1 : -1) * (0.5 + fraction / 2)));
    return static_cast<T>(static_cast<float>((fraction - 1) / 0.3));
  }
}

/// The larger one; NaN is larger than all numbers, and +0 is larger than -0.
template <typename A> static A getLarger(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<A>::quiet_NaN();
    if (a == 0 && b == 0)
      return std::signbit(a) ? b : a;
  }
  return std::max(a, b);
}

/// The low bits of integer sums and products are those of unsigned ones, however wide they are.
template <typename A> static A reduceTwo(Collective::Reduction reduction, A a, A b) {
  if (reduction == Collective::MAX)
    return getLarger(a, b);
  if constexpr (std::is_integral_v<A>) {
    if (reduction == Collective::MIN)
      return std::min(a, b);
  } else if (reduction == Collective::MIN) {
    return -getLarger(-a, -b);
  }
  if constexpr (std::is_integral_v<A>) {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<A>(reduction == Collective::SUM       ? x + y
                          : reduction == Collective::PRODUCT ? x * y
                          : reduction == Collective::AND     ? (x & y)
                                                             : (x | y));
  } else {
    return reduction == Collective::SUM ? a + b : a * b;
  }
}

template <typename Fn> static PeriodicValues makeValues(const SelfTestCase &test, uint64_t elements, Fn getElement) {
  std::vector<std::byte> bytes(std::clamp<uint64_t>(elements, 1, PeriodicValues::period) * getSize(test.type));
  dispatch(test.type, [&](auto zero) {
    using T = decltype(zero);
    T *values = reinterpret_cast<T *>(bytes.data());
    for (uint64_t i = 0; i != bytes.size() / sizeof(T); ++i)
      values[i] = getElement(zero, i);
  });
  return PeriodicValues(test.type, std::move(bytes));
}

PeriodicValues meshwright::runtime::makeOperand(const SelfTestCase &test, uint32_t part, int64_t rank,
                                                uint64_t elements) {
  return makeValues(test, elements,
                    [&](auto zero, uint64_t i) { return getValue<decltype(zero)>(test, part, rank, i); });
}

PeriodicValues meshwright::runtime::makeReduced(const SelfTestCase &test, uint32_t part,
                                                std::span<const int64_t> members, uint64_t elements) {
  return makeValues(test, elements, [&](auto zero, uint64_t i) {
    using T = decltype(zero);
    using A = typename AccumulatorOf<T>::Type;
    A sum = static_cast<A>(getValue<T>(test, part, members[0], i));
    for (int64_t member : members.subspan(1))
      sum = reduceTwo<A>(test.reduction, sum, static_cast<A>(getValue<T>(test, part, member, i)));
    return static_cast<T>(sum);
  });
}

//===----------------------------------------------------------------------===//
// PeriodicValues
//===----------------------------------------------------------------------===//

/// Calls fn(begin of elements, begin of other, bytes) for each stretch that does not go over the end of the period.
template <typename Fn> static void forEachStretch(uint64_t periodBytes, uint64_t firstByte, uint64_t bytes, Fn fn) {
  uint64_t from = firstByte % periodBytes;
  for (uint64_t done = 0; done != bytes;) {
    uint64_t length = std::min(periodBytes - from, bytes - done);
    fn(from, done, length);
    done += length;
    from = 0;
  }
}

void PeriodicValues::write(uint64_t first, std::span<std::byte> to) const {
  forEachStretch(elements.size(), first * getSize(type), to.size(), [&](uint64_t from, uint64_t at, uint64_t length) {
    std::memcpy(to.data() + at, elements.data() + from, length);
  });
}

/// Whether two elements have the same bits, or both are NaN: its bits say nothing, and machines choose others.
static bool isSame(DType type, const std::byte *found, const std::byte *expected) {
  return std::memcmp(found, expected, getSize(type)) == 0 ||
         (std::isnan(loadAsDouble(type, found)) && std::isnan(loadAsDouble(type, expected)));
}

uint64_t PeriodicValues::countWrong(uint64_t first, std::span<const std::byte> found, uint64_t &firstWrong) const {
  uint64_t size = getSize(type), wrong = 0;
  forEachStretch(elements.size(), first * size, found.size(), [&](uint64_t from, uint64_t at, uint64_t length) {
    if (std::memcmp(found.data() + at, elements.data() + from, length) == 0)
      return;
    for (uint64_t i = 0; i != length; i += size)
      if (!isSame(type, found.data() + at + i, elements.data() + from + i) && wrong++ == 0)
        firstWrong = (at + i) / size;
  });
  return wrong;
}

std::string PeriodicValues::format(uint64_t index) const {
  return formatElement(type, elements.data() + index * getSize(type) % elements.size());
}

std::string meshwright::runtime::formatElement(DType type, const std::byte *element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, getSize(type));
  return fmt::format("{:.9g} (bits {:#0{}x})", loadAsDouble(type, element), bits, 2 + 2 * getSize(type));
}
