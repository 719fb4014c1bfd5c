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

/// The work of a micro-kernel, which multiplies some rows of a left operand with some columns of a right one. In packed
/// operands k is slowest, and the rows or columns of a sliver lie side by side.
template <typename T> struct Tile {
  int64_t k = 0;
  const T *lhs = nullptr; ///< element p of row i is at i * lhsRow + p * lhsColumn, unless rows are packed
  int64_t lhsRow = 0, lhsColumn = 0;
  const T *rhs = nullptr; ///< the columns of line p begin at p * rhsRow, unless they are packed
  int64_t rhsRow = 0;
  T *packed = nullptr; ///< where to pack columns that are not
  T *out = nullptr;    ///< rows are outRow apart
  int64_t outRow = 0;
  Ending ending = {}; ///< rounds only where all rows and columns of packed operands are multiplied
};

/// The product of a sliver of up to `rows` rows and one of up to `columns` columns.
template <typename T> struct MicroKernel {
  /// Sets out[i, j], or adds to it, the sum over p < k of lhs[i, p] * rhs[p, j].
  using Function = void (*)(const Tile<T> &tile);
  int64_t rows, columns, lanes;
  /// By whether the rows are packed, and the lines; the number of rows less one; of one vector and of all columns.
  Function functions[2][2][8][2] = {};

  /// How many columns are computed for so many: lines of rhs and rows of out have this length.
  int64_t getColumns(int64_t count) const { return count <= lanes ? lanes : columns; }
  Function get(bool hasPackedRows, bool hasPackedLines, int64_t rowCount, int64_t columnCount) const {
    return functions[hasPackedRows][hasPackedLines][rowCount - 1][columnCount > lanes];
  }
};

/// The micro-kernel for the vectors of this processor; T is float, double or uint64_t.
template <typename T> const MicroKernel<T> &selectMicroKernel();

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
