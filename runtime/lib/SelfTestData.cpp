//===- SelfTestData.cpp - operands and results by a formula ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SelfTestData.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

uint64_t meshwright::runtime::mixBits(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

template <typename T> static T getValue(const SelfTestCase &test, uint32_t part, int64_t rank, uint64_t index) {
  uint64_t bits = mixBits((static_cast<uint64_t>(rank) * 16 + part) * PeriodicValues::period + index);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(test.type == I1 ? bits & 1 : bits);
  } else {
    auto fraction = static_cast<double>(bits % 2001) / 1000;
    if (isReducing(test.kind) && test.reduction == Collective::PRODUCT)
      return static_cast<T>(static_cast<float>((bits >> 32 & 1 ? 1 : -1) * (0.5 + fraction / 2)));
    return static_cast<T>(static_cast<float>((fraction - 1) / 0.3));
  }
}

/// Of integers the low bits of sums and products are those of unsigned ones, however wide they are.
template <typename A> static A reduceTwo(Collective::Reduction reduction, A a, A b) {
  switch (reduction) {
  case Collective::MAX:
    return std::max(a, b);
  case Collective::MIN:
    return std::min(a, b);
  default:
    break;
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

uint64_t PeriodicValues::countWrong(uint64_t first, std::span<const std::byte> found, uint64_t &firstWrong) const {
  uint64_t size = getSize(type), wrong = 0;
  forEachStretch(elements.size(), first * size, found.size(), [&](uint64_t from, uint64_t at, uint64_t length) {
    if (std::memcmp(found.data() + at, elements.data() + from, length) == 0)
      return;
    for (uint64_t i = 0; i != length; i += size)
      if (std::memcmp(found.data() + at + i, elements.data() + from + i, size) != 0 && wrong++ == 0)
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
