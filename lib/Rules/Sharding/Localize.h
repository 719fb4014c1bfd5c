//===- Localize.h - operations that change when they are split --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most operations of one rank are the operation of all on smaller operands. Here are those whose attributes speak of
// sizes or positions, and what they have in common: the arithmetic of positions, written as operations of `net`.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_SHARDING_LOCALIZE_H
#define MESHWRIGHT_LIB_RULES_SHARDING_LOCALIZE_H

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"

namespace meshwright::sharding {

using LocalResults = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

LocalResults localizeConstant(net::ConstantOp op, dist::Localizer &localizer);
LocalResults localizeIota(net::IotaOp op, dist::Localizer &localizer);
LocalResults localizeSlice(net::SliceOp op, dist::Localizer &localizer);
LocalResults localizePad(net::PadOp op, dist::Localizer &localizer);
LocalResults localizeGather(net::GatherOp op, dist::Localizer &localizer);
LocalResults localizeScatter(net::ScatterOp op, dist::Localizer &localizer);

/// Writes arithmetic on tensors at one location.
class Arithmetic {
public:
  Arithmetic(dist::Localizer &localizer, mlir::Location loc) : localizer(localizer), loc(loc) {}

  /// A tensor full of `value`; for floats it is converted.
  mlir::Value splat(mlir::RankedTensorType type, int64_t value);
  /// A tensor of the type of `like` full of `value`.
  mlir::Value splatLike(mlir::Value like, int64_t value);
  /// `value` repeated to `type`; its dimension i becomes `dims[i]`.
  mlir::Value broadcast(mlir::Value value, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value compare(net::CompareDirection direction, mlir::Value lhs, mlir::Value rhs);
  template <typename OpT> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return OpT::create(localizer.builder, loc, lhs.getType(), lhs, rhs);
  }
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse);
  /// The rank's coordinate on `axis`, repeated to the type of `like`, which has integer elements.
  mlir::Value coordinateLike(dist::Axis axis, mlir::Value like);

  /// For every position along `dim` of what a rank holds of a value placed as `placement` the index in the whole
  /// dimension of `size`: a `tensor<Lxi32>`, or of i64 where that is too short. Positions beyond the rank's part yield
  /// something not below `size`, if the only uneven digit is the major one.
  mlir::Value globalIndices(const dist::Placement &placement, unsigned dim, int64_t size);

  /// The place on this rank of an index of the whole dimension.
  struct Position {
    mlir::Value local;
    /// An i1: true if this rank holds the index.
    mlir::Value isHere;
  };
  /// The positions of `indices`, which lie in [0, size) and have signless elements of at least 32 bits.
  Position localPositions(mlir::Value indices, const dist::Placement &placement, unsigned dim, int64_t size);

private:
  dist::Localizer &localizer;
  mlir::Location loc;
};

/// The local index of global index `position`, where it is the first index of a part on every axis: a start or a
/// length that the digits of the dimension divide.
int64_t toLocalBoundary(const dist::Placement &placement, unsigned dim, int64_t size, int64_t position);

} // namespace meshwright::sharding

#endif
