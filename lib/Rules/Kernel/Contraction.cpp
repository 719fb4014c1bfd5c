//===- Contraction.cpp - the kernel of products that no library takes -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// One loop per dimension: batching, free, then contracted. Integers wrap; floats are summed in f32 or wider.
struct DotKernel : KernelOpInterface::ExternalModel<DotKernel, DotOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto dot = cast<DotOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    auto type = kernel::typeOf(dot.getResult());
    Type element = type.getElementType();
    Type from[] = {kernel::elementOf(dot.getLhs()), kernel::elementOf(dot.getRhs())};
    Type accumulator = kernel::getAccumulator(element);
    if (isa<FloatType>(element) && (from[0].isF64() || from[1].isF64()))
      accumulator = builder.getF64Type();

    int64_t rank = type.getRank() + dot.getLhsContract().size();
    SmallVector<AffineExpr> lhs(kernel::typeOf(dot.getLhs()).getRank()), rhs(kernel::typeOf(dot.getRhs()).getRank());
    int64_t next = 0;
    for (auto [left, right] : llvm::zip(dot.getLhsBatch(), dot.getRhsBatch()))
      lhs[left] = rhs[right] = builder.getAffineDimExpr(next++);
    for (int64_t dim : dot.getLhsFree())
      lhs[dim] = builder.getAffineDimExpr(next++);
    for (int64_t dim : dot.getRhsFree())
      rhs[dim] = builder.getAffineDimExpr(next++);
    SmallVector<AffineExpr> kept;
    for (int64_t dim = 0; dim < next; ++dim)
      kept.push_back(builder.getAffineDimExpr(dim));
    auto result = AffineMap::get(rank, 0, kept, builder.getContext());
    for (auto [left, right] : llvm::zip(dot.getLhsContract(), dot.getRhsContract()))
      lhs[left] = rhs[right] = builder.getAffineDimExpr(next++);
    AffineMap maps[] = {AffineMap::get(rank, 0, lhs, builder.getContext()),
                        AffineMap::get(rank, 0, rhs, builder.getContext())};

    Value sum = kernel::reduceElements(builder, ReduceKind::Sum, type.clone(accumulator), result, operands, maps,
                                       [&](kernel::Builder &inner, ValueRange args) -> Value {
                                         Value left = convert(inner, from[0], accumulator, args[0]);
                                         Value right = convert(inner, from[1], accumulator, args[1]);
                                         if (isa<FloatType>(accumulator))
                                           return arith::MulFOp::create(inner, left, right);
                                         return arith::MulIOp::create(inner, left, right);
                                       });
    if (accumulator != kernel::getSignless(element))
      sum = kernel::mapElements(builder, type, sum, [&](kernel::Builder &inner, ValueRange args) {
        return kernel::convertFloat(inner, args[0], element);
      });
    return SmallVector<Value>{sum};
  }

  /// A factor in the type that sums are taken in.
  static Value convert(kernel::Builder &builder, Type from, Type to, Value value) {
    if (isa<FloatType>(from))
      return kernel::convertFloat(builder, value, to);
    unsigned width = from.getIntOrFloatBitWidth(), wanted = to.getIntOrFloatBitWidth();
    if (width == wanted)
      return value;
    if (width > wanted)
      return arith::TruncIOp::create(builder, to, value);
    return kernel::isUnsigned(from) ? arith::ExtUIOp::create(builder, to, value).getResult()
                                    : arith::ExtSIOp::create(builder, to, value).getResult();
  }
};

} // namespace

void kernel::registerContraction(MLIRContext *context) { DotOp::attachInterface<DotKernel>(*context); }
