//===- VisibleColumns.h - the columns that a mask leaves --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TILING_VISIBLECOLUMNS_H
#define MESHWRIGHT_TILING_VISIBLECOLUMNS_H

#include "meshwright/Tiling/Region.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::tiling {

/// The columns from `begin` to before `end`.
struct Columns {
  int64_t begin, end;

  int64_t size() const { return end - begin; }
  bool operator==(const Columns &) const = default;
};

/// The numbers that hide a score where a mask puts them in its place or adds them.
enum class Hiding {
  /// Minus infinity: with it alone a hidden score is nothing in exact arithmetic too.
  Infinity,
  /// And everything below half of the lowest number of a type.
  Lowest
};

/// True if every element of `value` is known to be such a number.
bool hides(mlir::Value value, Hiding hiding);

/// Finds columns that do not count in some rows.
class VisibleColumns {
public:
  /// `regions` are those of a block; backward reads maxima that forward has found.
  explicit VisibleColumns(llvm::ArrayRef<ScoreRegion> regions, Hiding hiding = Hiding::Infinity);

  /// Columns outside of which all values of rows `begin` to before `end` of `region` are zero where sums along rows or
  /// columns read them, and no larger than others where a maximum does.
  Columns find(const ScoreRegion &region, int64_t begin, int64_t end) const;

  /// True if some score in each of the rows from `begin` to before `end` is not hidden where `maximum` reads it, which
  /// is a reduction of a region along its columns.
  bool isVisible(mlir::Operation *maximum, int64_t begin, int64_t end) const;
  /// The reductions for which that is true of all rows.
  llvm::SmallVector<mlir::Operation *> findVisible() const;

private:
  bool mayLeaveOut(const ScoreRegion &region, int64_t begin, int64_t end, const Columns &columns) const;

  Hiding hiding;
  /// The regions of maxima along columns.
  llvm::MapVector<mlir::Operation *, const ScoreRegion *> maxima;
  /// For each of them how many of the first rows have a score that is not hidden.
  mutable llvm::DenseMap<mlir::Operation *, std::vector<int64_t>> visibleRows;
};

} // namespace meshwright::tiling

#endif
