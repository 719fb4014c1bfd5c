//===- Reduce.cpp - elementwise reduction of buffers ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on chunks that stay in the first-level cache: every input is read once and every output written once.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Integers wrap: they are added and multiplied as unsigned ones, wide enough not to be promoted to int.
template <typename T> using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <Collective::Reduction kind, typename A> inline A combine(A a, A b) {
  if constexpr (kind == Collective::SUM || kind == Collective::PRODUCT) {
    if constexpr (std::is_integral_v<A>) {
      auto x = static_cast<Wrapping<A>>(a), y = static_cast<Wrapping<A>>(b);
      return static_cast<A>(kind == Collective::SUM ? x + y : x * y);
    } else {
      return kind == Collective::SUM ? a + b : a * b;
    }
  } else if constexpr (kind == Collective::MAX) {
    return a > b || a != a ? a : b; // what is no number wins
  } else if constexpr (kind == Collective::MIN) {
    return a < b || a != a ? a : b;
  } else if constexpr (std::is_integral_v<A>) {
    return kind == Collective::AND ? a & b : a | b;
  } else {
    return a;
  }
}

template <Collective::Reduction kind, typename T>
void reduce(std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs, uint64_t begin,
            uint64_t end) {
  using A = typename AccumulatorOf<T>::Type;
  constexpr uint64_t chunk = 2048;
  alignas(64) A sum[chunk];
  alignas(64) T rounded[chunk];
  for (uint64_t at = begin; at < end; at += chunk) {
    uint64_t n = std::min(chunk, end - at);
    const T *first = reinterpret_cast<const T *>(inputs[0]) + at;
    for (uint64_t i = 0; i != n; ++i)
      sum[i] = static_cast<A>(first[i]);
    for (const std::byte *input : inputs.subspan(1)) {
      const T *next = reinterpret_cast<const T *>(input) + at;
      for (uint64_t i = 0; i != n; ++i)
        sum[i] = combine<kind, A>(sum[i], static_cast<A>(next[i]));
    }
    const void *result = sum;
    if constexpr (!std::is_same_v<A, T>) {
      for (uint64_t i = 0; i != n; ++i)
        rounded[i] = static_cast<T>(sum[i]);
      result = rounded;
    }
    for (std::byte *output : outputs)
      std::memcpy(output + at * sizeof(T), result, n * sizeof(T));
  }
}

} // namespace

ReduceFn meshwright::runtime::getReduceFn(Collective::Reduction reduction, DType type) {
  return dispatch(type, [&](auto zero) -> ReduceFn {
    using T = decltype(zero);
    switch (reduction) {
    case Collective::PRODUCT:
      return reduce<Collective::PRODUCT, T>;
    case Collective::MAX:
      return reduce<Collective::MAX, T>;
    case Collective::MIN:
      return reduce<Collective::MIN, T>;
    case Collective::AND:
      return reduce<Collective::AND, T>;
    case Collective::OR:
      return reduce<Collective::OR, T>;
    default:
      return reduce<Collective::SUM, T>;
    }
  });
}
