//===- LocalizeLayout.cpp - constants, slice and pad of one rank -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;
using namespace meshwright::sharding;

/// The rank's part of `whole`, which every rank has: one `dist.shard` per axis, major digits first.
static Value takePart(Value whole, const Placement &placement, ArrayRef<int64_t> shape, Localizer &localizer) {
  OpBuilder &builder = localizer.builder;
  Placement current = Placement::replicated(shape.size());
  for (auto [dim, splits] : llvm::enumerate(placement.dims))
    for (const Split &split : splits) {
      Placement next = current;
      next.dims[dim].push_back(split);
      whole = ShardOp::create(
          builder, whole.getLoc(), typeOf(whole).clone(next.getLocalShape(shape)), whole,
          localizer.getCoordinate(split.axis), builder.getStrArrayAttr({localizer.mesh.getName(split.axis)}),
          current.toAttr(builder.getContext(), localizer.mesh, shape),
          next.toAttr(builder.getContext(), localizer.mesh, shape), builder.getDenseI64ArrayAttr(shape));
      current = next;
    }
  return whole;
}

LocalResults sharding::localizeConstant(ConstantOp op, Localizer &localizer) {
  auto type = cast<RankedTensorType>(op.getType());
  RankedTensorType local = localizer.getResultType(op, 0);
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  Value value;
  if (splat || local == type) {
    ElementsAttr attribute = splat && local != type ? splat.resizeSplat(local) : op.getValue();
    value = ConstantOp::create(localizer.builder, op.getLoc(), local, attribute);
  } else {
    Value whole = ConstantOp::create(localizer.builder, op.getLoc(), type, op.getValue());
    value = takePart(whole, localizer.resultPlacements[0], type.getShape(), localizer);
  }
  inherit(value.getDefiningOp(), op, Inherit::Local);
  return SmallVector<Value>{value};
}

LocalResults sharding::localizeIota(IotaOp op, Localizer &localizer) {
  const Placement &placement = localizer.resultPlacements[0];
  unsigned dim = op.getDim();
  if (placement.dims[dim].empty())
    return localizer.clone(op);
  auto type = cast<RankedTensorType>(op.getType());
  Arithmetic arithmetic(localizer, op.getLoc());
  Value line = arithmetic.globalIndices(placement, dim, type.getDimSize(dim));
  line = arithmetic.convert(line, type.getElementType());
  Value value = arithmetic.broadcast(line, localizer.getResultType(op, 0), {static_cast<int64_t>(dim)});
  inherit(value.getDefiningOp(), op, Inherit::Local);
  return SmallVector<Value>{value};
}

LocalResults sharding::localizeSlice(SliceOp op, Localizer &localizer) {
  const Placement &from = localizer.operandPlacements[0];
  RankedTensorType local = localizer.getResultType(op, 0), type = typeOf(op.getOperand());
  SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits());
  for (unsigned dim = 0; dim < starts.size(); ++dim) {
    if (from.dims[dim].empty() && localizer.resultPlacements[0].dims[dim].empty())
      continue;
    starts[dim] = toLocalBoundary(from, dim, type.getDimSize(dim), starts[dim]);
    limits[dim] = starts[dim] + local.getDimSize(dim);
  }
  Value value =
      SliceOp::create(localizer.builder, op.getLoc(), local, localizer.operands[0], starts, limits, op.getSteps());
  inherit(value.getDefiningOp(), op, Inherit::Local);
  return SmallVector<Value>{value};
}

/// `operand` with the padding value where the rank holds positions beyond its part along `dim`: in the padded tensor
/// they may be part of the padding.
static Value fillBeyond(PadOp op, Value operand, unsigned dim, Localizer &localizer) {
  Arithmetic arithmetic(localizer, op.getLoc());
  int64_t size = typeOf(op.getOperand()).getDimSize(dim);
  RankedTensorType type = typeOf(operand);
  Value indices = arithmetic.globalIndices(localizer.operandPlacements[0], dim, size);
  Value isPart = arithmetic.compare(CompareDirection::Lt, indices, arithmetic.splatLike(indices, size));
  isPart = arithmetic.broadcast(isPart, type.clone(localizer.builder.getI1Type()), {static_cast<int64_t>(dim)});
  return arithmetic.select(isPart, operand, arithmetic.broadcast(localizer.operands[1], type, {}));
}

LocalResults sharding::localizePad(PadOp op, Localizer &localizer) {
  const Placement &from = localizer.operandPlacements[0], &to = localizer.resultPlacements[0];
  RankedTensorType local = localizer.getResultType(op, 0), type = typeOf(op.getOperand());
  Value operand = localizer.operands[0];
  SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
  for (unsigned dim = 0; dim < low.size(); ++dim) {
    if (from.dims[dim].empty() && to.dims[dim].empty())
      continue;
    if (from.isUneven(dim, localizer.mesh) && high[dim] > 0)
      operand = fillBeyond(op, operand, dim, localizer);
    low[dim] = low[dim] >= 0 ? toLocalBoundary(to, dim, cast<RankedTensorType>(op.getType()).getDimSize(dim), low[dim])
                             : -toLocalBoundary(from, dim, type.getDimSize(dim), -low[dim]);
    high[dim] = local.getDimSize(dim) - low[dim] - typeOf(operand).getDimSize(dim);
  }
  Value value =
      PadOp::create(localizer.builder, op.getLoc(), local, operand, localizer.operands[1], low, high, op.getInterior());
  inherit(value.getDefiningOp(), op, Inherit::Local);
  return SmallVector<Value>{value};
}
