//===- Placement.h - where the parts of a value are -------------*- C++ -*-===//
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

/// Where the parts of a value of a known shape are. Digits of a dimension are sorted major to minor and nested: the
/// extent of the next one divides the stride of the one before.
struct Placement {
  /// For every dimension its split digits, major to minor.
  llvm::SmallVector<llvm::SmallVector<Split, 2>> dims;
  /// The reduction that the axes in `partialAxes` still owe.
  ReduceKind partialKind = ReduceKind::Sum;
  /// In increasing order.
  llvm::SmallVector<Axis, 2> partialAxes;
  /// The coordinates that hold the value, for the axes where not all do, by increasing axis.
  llvm::SmallVector<std::pair<Axis, llvm::SmallVector<int64_t>>, 0> support;

  /// Every rank holds a value of that many dimensions whole.
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
  /// The coordinate of `axis` that alone holds the value; nothing where not exactly one does.
  std::optional<int64_t> getHolder(Axis axis) const;
  /// Makes coordinate `holder` of `axis` the only one that holds the value, which was replicated on it.
  void setHolder(Axis axis, int64_t holder);
  /// Whether the rank with these coordinates holds a part of the value.
  bool holds(llvm::ArrayRef<int64_t> coordinates) const;
  /// Adds a digit at its place in the nesting. False, and nothing is changed, where it overlaps a digit that is there
  /// or does not nest.
  bool insert(unsigned dim, Split split);
  /// Forgets `axis`: the value becomes replicated on it.
  void erase(Axis axis);

  /// The shape that a rank holds of a value of `shape`; for sizes that do not divide, the largest part, on every rank.
  llvm::SmallVector<int64_t> getLocalShape(llvm::ArrayRef<int64_t> shape) const;
  /// Whether some rank holds elements beyond its part in `dim` (a digit does not divide).
  bool isUneven(unsigned dim, const Mesh &mesh) const;
  /// The index along `dim` of the global value that position `local` of the rank with these coordinates holds, or
  /// nothing where the position lies beyond the rank's part.
  std::optional<int64_t> getGlobalIndex(unsigned dim, int64_t size, int64_t local,
                                        llvm::ArrayRef<int64_t> coordinates) const;

  bool operator==(const Placement &) const = default;
};

/// The digits of one dimension as mixed radix, for whoever addresses the parts: an axis digit has its axis, a plain one
/// has none; sizes from major to minor, of the local array (an axis digit has local size 1).
struct LocalDigit {
  std::optional<Axis> axis;
  int64_t localSize;
  /// How far apart two neighbours of this digit are in the global dimension.
  int64_t globalStride;
};
llvm::SmallVector<LocalDigit> getLocalDigits(llvm::ArrayRef<Split> splits, int64_t size);

} // namespace meshwright::dist

#endif
