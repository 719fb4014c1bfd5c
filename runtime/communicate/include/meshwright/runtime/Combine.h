//===- Combine.h - what reductions do with two elements ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reductions as types, on the types in which sums are accumulated. Compiled for GPUs too, so that they do the same.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COMBINE_H
#define MESHWRIGHT_RUNTIME_COMBINE_H

#include "meshwright/runtime/HalfFloats.h"

namespace meshwright::runtime {

/// Whether halves of the type's numbers are numbers of it: floats are not reduced bit by bit, and do not wrap.
template <typename A> inline constexpr bool hasFractions = static_cast<A>(1) / 2 != 0;

/// Integers wrap: they are added and multiplied as unsigned ones, of which the lower bits are the result's.
struct Sum {
  template <typename A> static A combine(A a, A b) {
    if constexpr (hasFractions<A>)
      return a + b;
    else
      return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Product {
  template <typename A> static A combine(A a, A b) {
    if constexpr (hasFractions<A>)
      return a * b;
    else
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
/// Defined on integers alone.
struct And {
  template <typename A> static A combine(A a, A b) { return a & b; }
};
struct Or {
  template <typename A> static A combine(A a, A b) { return a | b; }
};

/// The bitwise reduction of two equal floats, which differ in nothing but the sign of a zero.
template <typename R> float combineEqual(float a, float b) {
  return __builtin_bit_cast(float, R::combine(__builtin_bit_cast(uint32_t, a), __builtin_bit_cast(uint32_t, b)));
}
template <typename R> double combineEqual(double a, double b) {
  return __builtin_bit_cast(double, R::combine(__builtin_bit_cast(uint64_t, a), __builtin_bit_cast(uint64_t, b)));
}

/// NaN wins, and +0 is larger than -0: `maximum` and `minimum` of IEEE 754, which the kernels compute too.
struct Max {
  template <typename A> static A combine(A a, A b) {
    if constexpr (hasFractions<A>)
      return a == b ? combineEqual<And>(a, b) : a > b || a != a ? a : b;
    else
      return a > b ? a : b;
  }
};
struct Min {
  template <typename A> static A combine(A a, A b) {
    if constexpr (hasFractions<A>)
      return a == b ? combineEqual<Or>(a, b) : a < b || a != a ? a : b;
    else
      return a < b ? a : b;
  }
};

} // namespace meshwright::runtime

#endif
