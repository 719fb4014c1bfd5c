//===- MicroKernel.h - products in registers ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_MICROKERNEL_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_MICROKERNEL_H

#include <cstddef>
#include <cstdint>

namespace meshwright::runtime {

/// The end of a micro-kernel: it may add its sums to those that are there and, if they are of f32, round both to
/// BFloat16.
struct Ending {
  bool adds = false, rounds = false;
  /// True if the lower 16 bits of a NaN among the sums may be set, as in one that is an operand in f32.
  bool isNaNLong = true;
};

/// The product of a sliver of `rows` rows and one of `columns` columns.
template <typename T> struct MicroKernel {
  /// Sets to[rows, columns], or adds to it, the sum over p < k of a[p, rows] * b[p, columns]; rows are `stride` apart.
  void (*run)(int64_t k, const T *a, const T *b, T *to, int64_t stride, Ending ending);
  int64_t rows, columns;
};

/// The micro-kernel for the vectors of this processor; T is float, double or uint64_t.
template <typename T> MicroKernel<T> selectMicroKernel();

/// Loops over sums in f32 that become BFloat16.
struct BFloat16Loops {
  void (*round)(float *sums, int64_t size);
  /// Adds others to sums, both of which are rounded, and rounds these again.
  void (*add)(float *sums, const float *others, int64_t size);
  /// Writes m x n sums, rounded, to rows that are `row` elements apart; `column` is 1.
  void (*store)(const float *sums, int64_t m, int64_t n, std::byte *target, int64_t row, int64_t column);
};

/// The loops for the vectors of this processor.
BFloat16Loops selectBFloat16Loops();

} // namespace meshwright::runtime

#endif
