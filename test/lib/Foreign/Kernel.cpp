//===- Kernel.cpp - kernels and costs of foreign operations ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "test/lib/Foreign/Foreign.h"
#include "test/lib/Foreign/Models.h"

using namespace mlir;
using namespace meshwright::dist;

namespace {

using utils::IteratorType;
using Body = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value makeConstant(OpBuilder &builder, Location loc, Type type, double value) {
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
}

/// A tensor whose elements are all 0, or whatever where `undefined`.
Value makeInit(OpBuilder &builder, Location loc, RankedTensorType type, bool undefined) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  if (undefined)
    return empty;
  Value zero = makeConstant(builder, loc, type.getElementType(), 0);
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

/// One `linalg.generic` into a result of `type`; `body` gets the inputs' elements and, last, the result's.
SmallVector<Value> makeGeneric(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
                               ArrayRef<AffineMap> maps, ArrayRef<IteratorType> iterators, Body body) {
  bool undefined = !llvm::is_contained(iterators, IteratorType::reduction);
  Value init = makeInit(builder, loc, type, undefined);
  auto build = [&](OpBuilder &inner, Location innerLoc, ValueRange elements) {
    linalg::YieldOp::create(inner, innerLoc, body(inner, elements));
  };
  auto generic =
      linalg::GenericOp::create(builder, loc, TypeRange{type}, inputs, ValueRange{init}, maps, iterators, build);
  return SmallVector<Value>{generic.getResult(0)};
}

struct ScaleKernel : KernelOpInterface::ExternalModel<ScaleKernel, foreign::ScaleOp> {
  FailureOr<SmallVector<Value>> lowerToLinalg(Operation *op, OpBuilder &builder, ValueRange operands) const {
    RankedTensorType type = typeOf(operands[0]);
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<IteratorType> iterators(type.getRank(), IteratorType::parallel);
    double factor = cast<foreign::ScaleOp>(op).getFactor().convertToDouble();
    auto body = [&](OpBuilder &inner, ValueRange elements) -> Value {
      Value number = makeConstant(inner, op->getLoc(), type.getElementType(), factor);
      return arith::MulFOp::create(inner, op->getLoc(), elements[0], number);
    };
    return makeGeneric(builder, op->getLoc(), type, operands, {identity, identity}, iterators, body);
  }
};

struct RowSumKernel : KernelOpInterface::ExternalModel<RowSumKernel, foreign::RowSumOp> {
  FailureOr<SmallVector<Value>> lowerToLinalg(Operation *op, OpBuilder &builder, ValueRange operands) const {
    int64_t rank = typeOf(operands[0]).getRank();
    AffineMap identity = builder.getMultiDimIdentityMap(rank);
    SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
    iterators.back() = IteratorType::reduction;
    auto body = [&](OpBuilder &inner, ValueRange elements) -> Value {
      return arith::AddFOp::create(inner, op->getLoc(), elements[1], elements[0]);
    };
    return makeGeneric(builder, op->getLoc(), typeOf(op->getResult(0)), operands,
                       {identity, identity.dropResult(rank - 1)}, iterators, body);
  }
};

struct MatmulKernel : KernelOpInterface::ExternalModel<MatmulKernel, foreign::MatmulOp> {
  FailureOr<SmallVector<Value>> lowerToLinalg(Operation *op, OpBuilder &builder, ValueRange operands) const {
    AffineMap identity = builder.getMultiDimIdentityMap(3);
    SmallVector<AffineMap> maps{identity.getSubMap({0, 2}), identity.getSubMap({1, 2}), identity.getSubMap({0, 1})};
    auto body = [&](OpBuilder &inner, ValueRange elements) -> Value {
      Value product = arith::MulFOp::create(inner, op->getLoc(), elements[0], elements[1]);
      return arith::AddFOp::create(inner, op->getLoc(), elements[2], product);
    };
    return makeGeneric(builder, op->getLoc(), typeOf(op->getResult(0)), operands, maps,
                       {IteratorType::parallel, IteratorType::parallel, IteratorType::reduction}, body);
  }
};

struct RampKernel : KernelOpInterface::ExternalModel<RampKernel, foreign::RampOp> {
  FailureOr<SmallVector<Value>> lowerToLinalg(Operation *op, OpBuilder &builder, ValueRange operands) const {
    RankedTensorType type = typeOf(operands[0]);
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<AffineMap> maps(operands.size() + 1, AffineMap::get(type.getRank(), 0, builder.getContext()));
    maps.front() = maps.back() = identity;
    SmallVector<IteratorType> iterators(type.getRank(), IteratorType::parallel);
    auto body = [&](OpBuilder &inner, ValueRange elements) -> Value {
      Location loc = op->getLoc();
      Value position = makePosition(cast<foreign::RampOp>(op), inner, elements.drop_front().drop_back());
      Value wide = arith::IndexCastOp::create(inner, loc, inner.getI64Type(), position);
      Value number = arith::SIToFPOp::create(inner, loc, type.getElementType(), wide);
      Value step =
          makeConstant(inner, loc, type.getElementType(), cast<foreign::RampOp>(op).getStep().convertToDouble());
      return arith::AddFOp::create(inner, loc, elements[0], arith::MulFOp::create(inner, loc, number, step));
    };
    return makeGeneric(builder, op->getLoc(), type, operands, maps, iterators, body);
  }

private:
  /// The position along the whole dimension, from the local index and the rank's coordinates.
  static Value makePosition(foreign::RampOp op, OpBuilder &builder, ValueRange coordinates) {
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); };
    Value index = linalg::IndexOp::create(builder, loc, op.getDim());
    if (op.getSizes().empty())
      return index;
    Value position = constant(0);
    auto add = [&](Value digit, int64_t stride) {
      position =
          arith::AddIOp::create(builder, loc, position, arith::MulIOp::create(builder, loc, digit, constant(stride)));
    };
    for (auto [size, stride] : llvm::reverse(llvm::zip_equal(op.getSizes(), op.getStrides()))) {
      add(arith::RemUIOp::create(builder, loc, index, constant(size)), stride);
      index = arith::DivUIOp::create(builder, loc, index, constant(size));
    }
    for (auto [coordinate, stride] : llvm::zip_equal(coordinates, op.getCoordinateStrides()))
      add(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), coordinate), stride);
    return position;
  }
};

struct MatmulCost : CostOpInterface::ExternalModel<MatmulCost, foreign::MatmulOp> {
  int64_t getFlops(Operation *op) const {
    return 2 * typeOf(op->getResult(0)).getNumElements() * typeOf(op->getOperand(0)).getDimSize(1);
  }
};

} // namespace

void foreign::registerKernels(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, linalg::LinalgDialect, tensor::TensorDialect>();
  registry.addExtension(+[](MLIRContext *context, ForeignDialect *) {
    ScaleOp::attachInterface<ScaleKernel>(*context);
    RowSumOp::attachInterface<RowSumKernel>(*context);
    MatmulOp::attachInterface<MatmulKernel, MatmulCost>(*context);
    RampOp::attachInterface<RampKernel>(*context);
  });
}
