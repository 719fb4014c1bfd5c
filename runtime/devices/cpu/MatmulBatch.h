//===- MatmulBatch.h - the elements of a product's batch --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_MATMULBATCH_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_MATMULBATCH_H

#include "meshwright/runtime/MatmulProblem.h"
#include <array>

namespace meshwright::runtime {

inline int64_t getBatchSize(const MatmulProblem &p) {
  int64_t elements = 1;
  for (int64_t size : p.batch)
    elements *= size;
  return elements;
}

/// The offsets in the three arrays of an element of the batch, the last of whose dimensions is the fastest.
inline std::array<int64_t, 3> getOffsets(const MatmulProblem &p, int64_t number) {
  std::array<int64_t, 3> offsets{};
  for (size_t dim = p.batch.size(); dim-- != 0; number /= p.batch[dim]) {
    int64_t index = number % p.batch[dim];
    offsets[0] += index * p.lhsBatch[dim];
    offsets[1] += index * p.rhsBatch[dim];
    offsets[2] += index * p.outBatch[dim];
  }
  return offsets;
}

/// Calls fn(lhs, rhs, out) with the offsets of every element of the batch.
template <typename Fn> void forEachInBatch(const MatmulProblem &p, Fn fn) {
  for (int64_t number = 0, size = getBatchSize(p); number != size; ++number) {
    auto [lhs, rhs, out] = getOffsets(p, number);
    fn(lhs, rhs, out);
  }
}

} // namespace meshwright::runtime

#endif
