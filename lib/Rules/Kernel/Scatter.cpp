//===- Scatter.cpp - the kernel of scatters -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Updates are applied one after the other, in their row-major order, so that the result is deterministic where several
// meet.
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

kernel::WindowLayout::WindowLayout(int64_t windowsRank, int64_t operandRank, int64_t indicesRank,
                                   ArrayRef<int64_t> offsetDims, ArrayRef<int64_t> droppedDims,
                                   ArrayRef<int64_t> operandBatching, int64_t indexVectorDim)
    : operandBatching(operandBatching), windowsRank(windowsRank), indexVectorDim(indexVectorDim) {
  size_t next = 0;
  for (int64_t dim = 0; dim < operandRank; ++dim) {
    bool dropped = llvm::is_contained(droppedDims, dim) || llvm::is_contained(operandBatching, dim);
    offsetOf.push_back(dropped ? -1 : offsetDims[next++]);
  }
  int64_t window = 0;
  for (int64_t dim = 0; dim < indicesRank; ++dim) {
    if (dim == indexVectorDim) {
      batchOf.push_back(-1);
      continue;
    }
    while (llvm::is_contained(offsetDims, window))
      ++window;
    batchOf.push_back(window++);
  }
}

AffineMap kernel::WindowLayout::getIndicesMap(Builder &builder, int64_t component) const {
  SmallVector<AffineExpr> exprs;
  for (int64_t window : batchOf)
    exprs.push_back(window < 0 ? builder.getAffineConstantExpr(component) : builder.getAffineDimExpr(window));
  return AffineMap::get(windowsRank, 0, exprs, builder.getContext());
}

SmallVector<Value> kernel::WindowLayout::getOffsets(Builder &builder, ArrayRef<int64_t> indicesBatching) const {
  SmallVector<Value> offsets;
  for (int64_t window : offsetOf)
    offsets.push_back(window < 0 ? Value() : linalg::IndexOp::create(builder, window).getResult());
  for (auto [dim, batch] : llvm::zip(operandBatching, indicesBatching))
    offsets[dim] = linalg::IndexOp::create(builder, batchOf[batch]);
  return offsets;
}

Value kernel::toIndex(Builder &builder, Value value, bool isUnsigned) {
  Type type = builder.getIndexType();
  if (!isUnsigned)
    return arith::IndexCastOp::create(builder, type, value);
  Value index = arith::IndexCastUIOp::create(builder, type, value);
  if (value.getType().getIntOrFloatBitWidth() < 64)
    return index;
  // The upper half of the 64-bit numbers lies beyond every tensor.
  Value negative =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, index, arith::ConstantIndexOp::create(builder, 0));
  Value most = arith::ConstantIndexOp::create(builder, std::numeric_limits<int64_t>::max());
  return arith::SelectOp::create(builder, negative, most, index);
}

Value kernel::combineUpdate(Builder &builder, ScatterOp scatter, Value old, Value update) {
  static constexpr ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Sum, ReduceKind::Product, ReduceKind::Max,
                                         ReduceKind::Min};
  if (scatter.getKind() == ScatterKind::Assign)
    return update;
  Type type = elementOf(scatter.getOperand()), wide = getAccumulator(type);
  ReduceKind kind = kinds[static_cast<unsigned>(scatter.getKind())];
  if (!isa<FloatType>(type))
    return combine(builder, kind, type, old, update);
  Value sum = combine(builder, kind, wide, convertFloat(builder, old, wide), convertFloat(builder, update, wide));
  return convertFloat(builder, sum, type);
}

namespace {

/// Walks over the updates in row-major order, one loop per dimension, and combines each into its place. Order matters
/// where places meet, so nothing here is a parallel loop.
struct ScatterKernel : KernelOpInterface::ExternalModel<ScatterKernel, ScatterOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto scatter = cast<ScatterOp>(op);
    ScatterDimsAttr dims = scatter.getDims();
    kernel::Builder builder(op->getLoc(), outer);
    ArrayRef<int64_t> shape = kernel::shapeOf(operands[2]);
    RankedTensorType type = kernel::typeOf(operands[0]);
    if (kernel::typeOf(operands[2]).getNumElements() == 0)
      return SmallVector<Value>{
          kernel::moveElements(builder, type, operands[0], builder.getMultiDimIdentityMap(type.getRank()))};
    kernel::WindowLayout layout(shape.size(), kernel::typeOf(operands[0]).getRank(),
                                kernel::typeOf(operands[1]).getRank(), dims.getUpdateWindowDims(),
                                dims.getInsertedDims(), dims.getOperandBatchingDims(), dims.getIndexVectorDim());
    Walk walk{scatter, layout, operands, SmallVector<Value>(shape.size())};
    return SmallVector<Value>{walk.loop(builder, 0, operands[0])};
  }

  struct Walk {
    ScatterOp scatter;
    const kernel::WindowLayout &layout;
    ValueRange operands;
    /// The position in the updates, one induction variable per dimension.
    SmallVector<Value> position;

    /// The loops from dimension `dim` inwards, which carry the result.
    Value loop(kernel::Builder &builder, unsigned dim, Value into) {
      if (dim == position.size())
        return combineElement(builder, into);
      Value zero = arith::ConstantIndexOp::create(builder, 0), one = arith::ConstantIndexOp::create(builder, 1);
      Value limit = arith::ConstantIndexOp::create(builder, kernel::shapeOf(operands[2])[dim]);
      auto loop = scf::ForOp::create(builder, zero, limit, one, into,
                                     [&](OpBuilder &nested, Location loc, Value iv, ValueRange carried) {
                                       kernel::Builder inner(loc, nested);
                                       position[dim] = iv;
                                       Value result = this->loop(inner, dim + 1, carried[0]);
                                       scf::YieldOp::create(inner, result);
                                     });
      return loop.getResult(0);
    }

    /// The element of the operand that the current update goes to; `inside` says whether its window lies inside.
    SmallVector<Value> getTarget(kernel::Builder &builder, Value &inside) {
      ScatterDimsAttr dims = scatter.getDims();
      SmallVector<Value> target(layout.offsetOf.size());
      for (auto [dim, window] : llvm::enumerate(layout.offsetOf))
        if (window >= 0)
          target[dim] = position[window];
      for (auto [dim, batch] : llvm::zip(dims.getOperandBatchingDims(), dims.getIndicesBatchingDims()))
        target[dim] = position[layout.batchOf[batch]];
      bool isUnsigned = kernel::isUnsigned(kernel::elementOf(scatter.getIndices()));
      for (auto [component, dim] : llvm::enumerate(dims.getScatterDimsToOperandDims())) {
        SmallVector<Value> at;
        for (int64_t window : layout.batchOf)
          at.push_back(window < 0 ? arith::ConstantIndexOp::create(builder, component).getResult() : position[window]);
        Value start = kernel::toIndex(builder, tensor::ExtractOp::create(builder, operands[1], at), isUnsigned);
        target[dim] = target[dim] ? arith::AddIOp::create(builder, start, target[dim]).getResult() : start;
        int64_t window = layout.offsetOf[dim] < 0 ? 1 : kernel::shapeOf(operands[2])[layout.offsetOf[dim]];
        Value end = arith::ConstantIndexOp::create(builder, kernel::shapeOf(operands[0])[dim] - window + 1);
        Value fits = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, start, end);
        inside = inside ? arith::AndIOp::create(builder, inside, fits).getResult() : fits;
      }
      for (Value &index : target)
        if (!index)
          index = arith::ConstantIndexOp::create(builder, 0);
      return target;
    }

    Value combineElement(kernel::Builder &builder, Value into) {
      Value inside;
      SmallVector<Value> target = getTarget(builder, inside);
      auto write = [&](kernel::Builder &inner) -> Value {
        Value update = tensor::ExtractOp::create(inner, operands[2], position);
        if (scatter.getKind() != ScatterKind::Assign)
          update = kernel::combineUpdate(inner, scatter, tensor::ExtractOp::create(inner, into, target), update);
        return tensor::InsertOp::create(inner, update, into, target);
      };
      if (!inside)
        return write(builder);
      auto branch = scf::IfOp::create(
          builder, inside,
          [&](OpBuilder &nested, Location loc) {
            kernel::Builder inner(loc, nested);
            Value written = write(inner);
            scf::YieldOp::create(inner, written);
          },
          [&](OpBuilder &nested, Location loc) { scf::YieldOp::create(nested, loc, into); });
      return branch.getResult(0);
    }
  };
};

} // namespace

void kernel::registerScatter(MLIRContext *context) { ScatterOp::attachInterface<ScatterKernel>(*context); }
