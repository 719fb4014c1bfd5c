//===- Reduction.cpp - kernels of reductions ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Rules/Elements.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

/// The map from all dimensions of a tensor of `rank` to those that are not among `dims`.
static AffineMap dropDims(Builder &builder, int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<AffineExpr> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(rank, 0, kept, builder.getContext());
}

Value kernel::isBetter(Builder &builder, ArgReduceOp reduce, Value element, Value best) {
  Type type = elementOf(reduce.getOperand());
  bool larger = reduce.getKind() == ArgKind::Max;
  if (isa<FloatType>(type)) {
    // NaN wins over numbers, and the first NaN over the others.
    auto predicate = larger ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    element = convertFloat(builder, element, getAccumulator(type));
    best = convertFloat(builder, best, getAccumulator(type));
    Value better = arith::CmpFOp::create(builder, predicate, element, best);
    Value elementIsNaN = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, element, element);
    Value bestIsNumber = arith::CmpFOp::create(builder, arith::CmpFPredicate::ORD, best, best);
    return arith::OrIOp::create(builder, better, arith::AndIOp::create(builder, elementIsNaN, bestIsNumber));
  }
  using Predicate = arith::CmpIPredicate;
  auto predicate = kernel::isUnsigned(type) ? (larger ? Predicate::ugt : Predicate::ult)
                                            : (larger ? Predicate::sgt : Predicate::slt);
  return arith::CmpIOp::create(builder, predicate, element, best);
}

namespace {

struct ReduceKernel : KernelOpInterface::ExternalModel<ReduceKernel, ReduceOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto reduce = cast<ReduceOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    auto type = kernel::typeOf(reduce.getResult());
    Type element = type.getElementType(), accumulator = kernel::getAccumulator(element);
    // Sums of 16-bit floats are taken in f32; integers keep their sign, which the combination asks for.
    bool widened = accumulator != kernel::getSignless(element);
    int64_t rank = kernel::typeOf(operands[0]).getRank();
    Value result = kernel::reduceElements(
        builder, reduce.getKind(), widened ? type.clone(accumulator) : type, dropDims(builder, rank, reduce.getDims()),
        operands[0], builder.getMultiDimIdentityMap(rank), [&](kernel::Builder &inner, ValueRange args) {
          return widened ? kernel::convertFloat(inner, args[0], accumulator) : args[0];
        });
    if (widened)
      result = kernel::mapElements(builder, type, result, [&](kernel::Builder &inner, ValueRange args) {
        return kernel::convertFloat(inner, args[0], element);
      });
    return SmallVector<Value>{result};
  }
};

/// Keeps the best element and its index; two results, so that it is a kernel of its own.
struct ArgReduceKernel : KernelOpInterface::ExternalModel<ArgReduceKernel, ArgReduceOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto reduce = cast<ArgReduceOp>(op);
    int64_t dim = reduce.getDim(), rank = kernel::typeOf(operands[0]).getRank();
    kernel::Builder builder(op->getLoc(), outer);
    auto valueType = kernel::getSignless(kernel::typeOf(reduce.getValue()));
    auto indexType = kernel::getSignless(kernel::typeOf(reduce.getIndex()));
    AffineMap kept = dropDims(builder, rank, dim);
    SmallVector<AffineExpr> first;
    for (int64_t other = 0, next = 0; other < rank; ++other)
      first.push_back(other == dim ? builder.getAffineConstantExpr(0) : builder.getAffineDimExpr(next++));
    // The search starts from the first element, so that no neutral element has to lose against all.
    Value best =
        kernel::moveElements(builder, valueType, operands[0], AffineMap::get(rank - 1, 0, first, builder.getContext()));
    Value zero = kernel::constant(builder, indexType.getElementType(), 0);
    Value empty = tensor::EmptyOp::create(builder, indexType.getShape(), indexType.getElementType());
    Value index = linalg::FillOp::create(builder, zero, empty).getResult(0);
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    iterators[dim] = utils::IteratorType::reduction;
    auto generic =
        linalg::GenericOp::create(builder, TypeRange{valueType, indexType}, operands[0], ValueRange{best, index},
                                  ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(rank), kept, kept}, iterators,
                                  [&](OpBuilder &nested, Location loc, ValueRange args) {
                                    kernel::Builder inner(loc, nested);
                                    Value better = kernel::isBetter(inner, reduce, args[0], args[1]);
                                    Value position = linalg::IndexOp::create(inner, dim);
                                    position = arith::IndexCastOp::create(inner, indexType.getElementType(), position);
                                    Value value = arith::SelectOp::create(inner, better, args[0], args[1]);
                                    position = arith::SelectOp::create(inner, better, position, args[2]);
                                    linalg::YieldOp::create(inner, ValueRange{value, position});
                                  });
    return llvm::to_vector_of<Value>(generic.getResults());
  }
};

} // namespace

void kernel::registerReduction(MLIRContext *context) {
  ReduceOp::attachInterface<ReduceKernel>(*context);
  ArgReduceOp::attachInterface<ArgReduceKernel>(*context);
}
