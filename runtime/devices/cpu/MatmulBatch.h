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
  std::vector<int64_t> index(p.batch.size(), 0);
  int64_t lhs = 0, rhs = 0, out = 0;
  while (true) {
    fn(lhs, rhs, out);
    size_t dim = p.batch.size();
    while (dim-- != 0) {
      lhs += p.lhsBatch[dim];
      rhs += p.rhsBatch[dim];
      out += p.outBatch[dim];
      if (++index[dim] != p.batch[dim])
        break;
      lhs -= p.lhsBatch[dim] * p.batch[dim];
      rhs -= p.rhsBatch[dim] * p.batch[dim];
      out -= p.outBatch[dim] * p.batch[dim];
      index[dim] = 0;
    }
    if (dim == static_cast<size_t>(-1))
      return;
  }
}

} // namespace meshwright::runtime

#endif
