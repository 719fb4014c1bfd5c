//===- Placement.h - resolved placements of values --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A placement resolved against a mesh and a shape. The attribute speaks of digits of a dimension; here a digit is
// (dimension, extent, stride) and the coordinate that holds index i is (i mod extent) / stride. Digits of that form
// pass through reshape, slice and concatenation by arithmetic alone, which is what lets a fused q/k/v projection stay
// split.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_PLACEMENT_H
#define MESHWRIGHT_DIALECTS_DIST_PLACEMENT_H

#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Mesh.h"

namespace meshwright::dist {

/// One digit of a dimension that is split over a mesh axis: coordinate (i mod extent) / stride holds index i, where i
/// is what the digits before it leave (i mod the stride of each in turn; the same as i itself where sizes divide). With
/// n the axis' size, (n-1)·stride < extent (no coordinate is empty) unless the dimension is too small for that, and
/// extent ≤ n·stride; they are equal where sizes divide.
struct Split {
  Axis axis;
  int64_t extent;
  int64_t stride;
  bool operator==(const Split &) const = default;
};

/// The placement of a value of known shape. The digits of a dimension are sorted from major to minor and nested: the
/// extent of the next one divides the stride of the one before.
struct Placement {
  /// For every dimension its split digits, major to minor.
  llvm::SmallVector<llvm::SmallVector<Split, 2>> dims;
  /// The reduction over `partialAxes` that yields the global value.
  ReduceKind partialKind = ReduceKind::Sum;
  /// In increasing order.
  llvm::SmallVector<Axis, 2> partialAxes;
  /// For each axis on which only some coordinates hold the value: these coordinates. By increasing axis.
  llvm::SmallVector<std::pair<Axis, llvm::SmallVector<int64_t>>, 0> support;

  /// The placement of a value with `rank` dimensions that every rank holds whole.
  static Placement replicated(unsigned rank);
  /// Resolves `mapping` for a value of `shape`. Errors name the axis and the sizes.
  static mlir::FailureOr<Placement> resolve(MappingAttr mapping, const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// The attribute that resolves to this placement.
  MappingAttr toAttr(mlir::MLIRContext *context, const Mesh &mesh, llvm::ArrayRef<int64_t> shape) const;

  /// The digit that splits over `axis`, with its dimension; nothing if `axis` splits no dimension.
  std::optional<std::pair<unsigned, Split>> findSplit(Axis axis) const;
  bool isPartial(Axis axis) const { return llvm::is_contained(partialAxes, axis); }
  bool isReplicated() const;
  /// The owner: the only coordinate of `axis` that holds the value; nothing if several coordinates hold it.
  std::optional<int64_t> getHolder(Axis axis) const;
  /// Makes coordinate `holder` of `axis`, on which the value was replicated, the only one that holds it.
  void setHolder(Axis axis, int64_t holder);
  /// True if the rank with these coordinates holds a part of the value.
  bool holds(llvm::ArrayRef<int64_t> coordinates) const;
  /// Adds a digit at its place in the nesting. Returns false and changes nothing if the digit overlaps another one or
  /// does not nest.
  bool insert(unsigned dim, Split split);
  /// Makes the value replicated on `axis`.
  void erase(Axis axis);

  /// The local shape of a value of `shape`. It is that of the largest part on every rank if sizes do not divide.
  llvm::SmallVector<int64_t> getLocalShape(llvm::ArrayRef<int64_t> shape) const;
  /// True if the local array of some rank is larger than its part in `dim`, because a digit does not divide.
  bool isUneven(unsigned dim, const Mesh &mesh) const;
  /// The index in the global value along `dim` of position `local` on the rank with these coordinates; nothing if the
  /// position lies beyond the rank's part.
  std::optional<int64_t> getGlobalIndex(unsigned dim, int64_t size, int64_t local,
                                        llvm::ArrayRef<int64_t> coordinates) const;

  bool operator==(const Placement &) const = default;
};

/// One digit of a dimension as a mixed-radix number, for code that addresses the parts: an axis digit has its axis, a
/// plain digit has none. Digits are listed from major to minor; sizes are those of the local array, where an axis digit
/// has size 1.
struct LocalDigit {
  std::optional<Axis> axis;
  int64_t localSize;
  /// The distance in the global dimension between two neighbouring values of this digit.
  int64_t globalStride;
};
llvm::SmallVector<LocalDigit> getLocalDigits(llvm::ArrayRef<Split> splits, int64_t size);

} // namespace meshwright::dist

#endif
