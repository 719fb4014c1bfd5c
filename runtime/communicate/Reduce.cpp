//===- Reduce.cpp - elementwise reduction of buffers ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on chunks that stay in the first-level cache: every input is read once and every output written once.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Reduce.h"
#include "meshwright/runtime/Combine.h"
#include "meshwright/runtime/DType.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

namespace meshwright::runtime {

template <> inline constexpr bool hasFractions<Residue> = true;
template <typename R> static Residue combineEqual(Residue a, Residue) { return a; }

} // namespace meshwright::runtime

namespace {

template <typename R, typename T>
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
        sum[i] = R::combine(sum[i], static_cast<A>(next[i]));
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
      return reduce<Product, T>;
    case Collective::MAX:
      return reduce<Max, T>;
    case Collective::MIN:
      return reduce<Min, T>;
    case Collective::AND:
    case Collective::OR:
      if constexpr (!std::is_integral_v<T>)
        return nullptr;
      else
        return reduction == Collective::AND ? reduce<And, T> : reduce<Or, T>;
    default:
      return reduce<Sum, T>;
    }
  });
}
