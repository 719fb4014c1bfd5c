//===- Layout.cpp - kernels of operations that move elements --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel states each element of its result as an expression in indices, so an operation that only moves elements is
// an affine map and fuses with its neighbours at no cost. Padding and concatenation select between elements, with
// indices clamped into the operands, because both sides of a select are read.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "dialects/Dist/KernelPieces.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Operations whose element i is the operand's element map(i).
template <typename OpT> struct MoveKernel : KernelOpInterface::ExternalModel<MoveKernel<OpT>, OpT> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    SmallVector<AffineExpr> exprs = getIndices(cast<OpT>(op), builder);
    auto map = AffineMap::get(result.getRank(), 0, exprs, builder.getContext());
    return SmallVector<Value>{kernel::moveElements(builder, result, operands[0], map)};
  }

  static SmallVector<AffineExpr> getIndices(BroadcastOp op, Builder &builder) {
    return llvm::map_to_vector(op.getDims(), [&](int64_t dim) { return builder.getAffineDimExpr(dim); });
  }

  static SmallVector<AffineExpr> getIndices(TransposeOp op, Builder &builder) {
    SmallVector<AffineExpr> exprs(op.getPermutation().size());
    for (auto [index, dim] : llvm::enumerate(op.getPermutation()))
      exprs[dim] = builder.getAffineDimExpr(index);
    return exprs;
  }

  static SmallVector<AffineExpr> getIndices(ReverseOp op, Builder &builder) {
    SmallVector<AffineExpr> exprs;
    for (auto [dim, size] : llvm::enumerate(kernel::shapeOf(op.getOperand()))) {
      AffineExpr index = builder.getAffineDimExpr(dim);
      bool turns = llvm::is_contained(op.getDims(), static_cast<int64_t>(dim));
      exprs.push_back(turns ? builder.getAffineConstantExpr(size - 1) - index : index);
    }
    return exprs;
  }

  static SmallVector<AffineExpr> getIndices(SliceOp op, Builder &builder) {
    SmallVector<AffineExpr> exprs;
    for (auto [dim, start, step] : llvm::enumerate(op.getStarts(), op.getSteps()))
      exprs.push_back(builder.getAffineDimExpr(dim) * step + start);
    return exprs;
  }

  static SmallVector<AffineExpr> getIndices(ReshapeOp op, Builder &builder) {
    ArrayRef<int64_t> from = kernel::shapeOf(op.getOperand()), to = kernel::shapeOf(op.getResult());
    AffineExpr linear = builder.getAffineConstantExpr(0);
    for (auto [dim, stride] : llvm::enumerate(computeStrides(to)))
      linear = linear + builder.getAffineDimExpr(dim) * stride;
    SmallVector<AffineExpr> exprs;
    for (auto [size, stride] : llvm::zip(from, computeStrides(from)))
      exprs.push_back(linear.floorDiv(std::max<int64_t>(stride, 1)) % std::max<int64_t>(size, 1));
    return exprs;
  }
};

/// Reads the operand where it has an element, and the value elsewhere.
struct PadKernel : KernelOpInterface::ExternalModel<PadKernel, PadOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto pad = cast<PadOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    auto scalar = AffineMap::get(result.getRank(), 0, {}, builder.getContext());
    if (kernel::typeOf(operands[0]).getNumElements() == 0)
      return SmallVector<Value>{kernel::moveElements(builder, result, operands[1], scalar)};
    auto body = [&](kernel::Builder &inner, ValueRange args) {
      Value inside;
      SmallVector<Value> indices;
      for (int64_t dim = 0; dim < result.getRank(); ++dim)
        indices.push_back(getIndex(pad, dim, inner, inside));
      Value element = tensor::ExtractOp::create(inner, operands[0], indices);
      return inside ? arith::SelectOp::create(inner, inside, element, args[0]).getResult() : element;
    };
    return SmallVector<Value>{kernel::mapElements(builder, result, operands[1], scalar, body)};
  }

  /// The index into dimension `dim` of the operand, clamped to lie inside; `inside` gathers whether it had to be.
  static Value getIndex(PadOp pad, int64_t dim, kernel::Builder &builder, Value &inside) {
    int64_t low = pad.getLow()[dim], step = pad.getInterior()[dim] + 1;
    int64_t size = kernel::shapeOf(pad.getOperand())[dim], extent = kernel::shapeOf(pad.getResult())[dim];
    auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
      Value holds = arith::CmpIOp::create(builder, predicate, lhs, rhs);
      inside = inside ? arith::AndIOp::create(builder, inside, holds).getResult() : holds;
    };
    auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, value); };
    Value position = linalg::IndexOp::create(builder, dim);
    if (low != 0)
      position = arith::SubIOp::create(builder, position, index(low));
    bool below = low > 0, above = extent - low > (size - 1) * step + 1;
    if (below) {
      require(arith::CmpIPredicate::sge, position, index(0));
      position = arith::MaxSIOp::create(builder, position, index(0));
    }
    if (step > 1) {
      require(arith::CmpIPredicate::eq, arith::RemUIOp::create(builder, position, index(step)), index(0));
      position = arith::DivUIOp::create(builder, position, index(step));
    }
    if (above) {
      require(arith::CmpIPredicate::slt, position, index(size));
      position = arith::MinSIOp::create(builder, position, index(size - 1));
    }
    return position;
  }
};

/// Reads every operand, clamped, and keeps the one whose part of the dimension it is. Loops may run piece by piece.
struct ConcatenateKernel : KernelOpInterface::ExternalModel<ConcatenateKernel, ConcatenateOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto concatenate = cast<ConcatenateOp>(op);
    int64_t dim = concatenate.getDim();
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    SmallVector<int64_t> pieces = {dim};
    auto body = [&](kernel::Builder &inner, ValueRange) {
      Value element;
      SmallVector<Value> indices;
      for (int64_t other = 0; other < result.getRank(); ++other)
        indices.push_back(linalg::IndexOp::create(inner, other));
      auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(inner, value); };
      Value position = indices[dim];
      int64_t offset = 0;
      for (Value operand : operands) {
        int64_t size = kernel::shapeOf(operand)[dim];
        if (size == 0)
          continue;
        pieces.push_back(offset);
        Value shifted = arith::SubIOp::create(inner, position, index(offset));
        indices[dim] = arith::MinSIOp::create(inner, arith::MaxSIOp::create(inner, shifted, index(0)), index(size - 1));
        Value candidate = tensor::ExtractOp::create(inner, operand, indices);
        Value starts = arith::CmpIOp::create(inner, arith::CmpIPredicate::sge, position, index(offset));
        element = element ? arith::SelectOp::create(inner, starts, candidate, element).getResult() : candidate;
        offset += size;
      }
      return element;
    };
    if (result.getNumElements() == 0)
      return SmallVector<Value>{tensor::EmptyOp::create(builder, result.getShape(), result.getElementType())};
    Value joined = kernel::mapElements(builder, result, {}, body);
    joined.getDefiningOp()->setDiscardableAttr(dist::kPiecesAttrName, builder.getDenseI64ArrayAttr(pieces));
    return SmallVector<Value>{joined};
  }
};

} // namespace

void kernel::registerLayout(MLIRContext *context) {
  BroadcastOp::attachInterface<MoveKernel<BroadcastOp>>(*context);
  ReshapeOp::attachInterface<MoveKernel<ReshapeOp>>(*context);
  TransposeOp::attachInterface<MoveKernel<TransposeOp>>(*context);
  ReverseOp::attachInterface<MoveKernel<ReverseOp>>(*context);
  SliceOp::attachInterface<MoveKernel<SliceOp>>(*context);
  PadOp::attachInterface<PadKernel>(*context);
  ConcatenateOp::attachInterface<ConcatenateKernel>(*context);
}
