//===- Combine.h - what reductions do with two elements ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reductions as types, on the types in which sums are accumulated. Compiled for GPUs too, so that they do the same.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_COMBINE_H
#define MESHWRIGHT_RUNTIME_BACKEND_COMBINE_H

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
/// What is no number wins.
struct Max {
  template <typename A> static A combine(A a, A b) { return a > b || a != a ? a : b; }
};
struct Min {
  template <typename A> static A combine(A a, A b) { return a < b || a != a ? a : b; }
};
/// Of integers alone.
struct And {
  template <typename A> static A combine(A a, A b) { return a & b; }
};
struct Or {
  template <typename A> static A combine(A a, A b) { return a | b; }
};

} // namespace meshwright::runtime

#endif
