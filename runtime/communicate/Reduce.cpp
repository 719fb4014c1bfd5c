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
#include <bit>
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

/// Elements of a block: every level of the tree has one on the stack.
constexpr uint64_t treeChunk = 512;

/// sum[i] = elements at + i of the inputs, by a binary tree: the left half is the largest power of two of them. Every
/// sum of two is rounded to T, as kernels and products round those of a rank.
template <typename T, typename A>
void sumTree(std::span<const std::byte *const> inputs, uint64_t at, uint64_t n, A *sum) {
  if (inputs.size() == 1) {
    const T *input = reinterpret_cast<const T *>(inputs[0]) + at;
    for (uint64_t i = 0; i != n; ++i)
      sum[i] = static_cast<A>(input[i]);
    return;
  }
  size_t half = std::bit_floor(inputs.size() - 1);
  alignas(64) A right[treeChunk];
  sumTree<T>(inputs.first(half), at, n, sum);
  sumTree<T>(inputs.subspan(half), at, n, right);
  for (uint64_t i = 0; i != n; ++i)
    sum[i] = static_cast<A>(static_cast<T>(Sum::combine(sum[i], right[i])));
}

template <typename T>
void reduceByTree(std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs, uint64_t begin,
                  uint64_t end) {
  using A = typename AccumulatorOf<T>::Type;
  alignas(64) A sum[treeChunk];
  alignas(64) T rounded[treeChunk];
  for (uint64_t at = begin; at < end; at += treeChunk) {
    uint64_t n = std::min(treeChunk, end - at);
    sumTree<T>(inputs, at, n, sum);
    for (uint64_t i = 0; i != n; ++i)
      rounded[i] = static_cast<T>(sum[i]);
    for (std::byte *output : outputs)
      std::memcpy(output + at * sizeof(T), rounded, n * sizeof(T));
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
    case Collective::TREE:
      return reduceByTree<T>;
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
