//===- Constants.cpp - kernels of operations without operands -------------===//
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

/// Stays a constant: where all elements are equal it costs nothing, else it is memory of the package.
struct ConstantKernel : KernelOpInterface::ExternalModel<ConstantKernel, ConstantOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &builder, ValueRange) const {
    auto value = cast<ConstantOp>(op).getValue();
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType signless = kernel::getSignless(type);
    if (signless != type) {
      auto dense = dyn_cast<DenseElementsAttr>(value);
      if (!dense)
        return op->emitError() << "constant of " << type << " is not dense";
      value = dense.bitcast(signless.getElementType());
    }
    return SmallVector<Value>{arith::ConstantOp::create(builder, op->getLoc(), signless, cast<TypedAttr>(value))};
  }
};

struct IotaKernel : KernelOpInterface::ExternalModel<IotaKernel, IotaOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange) const {
    auto iota = cast<IotaOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType type = kernel::getSignless(kernel::typeOf(iota.getResult()));
    Type element = type.getElementType();
    auto body = [&](kernel::Builder &inner, ValueRange) -> Value {
      Value index = linalg::IndexOp::create(inner, iota.getDim());
      if (isa<IntegerType>(element))
        return arith::IndexCastOp::create(inner, element, index);
      Value wide = arith::IndexCastOp::create(inner, inner.getI64Type(), index);
      Type accumulator = kernel::getAccumulator(element);
      return kernel::convertFloat(inner, arith::SIToFPOp::create(inner, accumulator, wide), element);
    };
    return SmallVector<Value>{kernel::mapElements(builder, type, {}, body)};
  }
};

} // namespace

void kernel::registerConstants(MLIRContext *context) {
  ConstantOp::attachInterface<ConstantKernel>(*context);
  IotaOp::attachInterface<IotaKernel>(*context);
}
