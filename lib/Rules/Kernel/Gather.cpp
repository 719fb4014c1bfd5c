//===- Gather.cpp - the kernel of gathers ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Reads the position of an element's box from `indices`, clamps it, and reads the operand there.
struct GatherKernel : KernelOpInterface::ExternalModel<GatherKernel, GatherOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto gather = cast<GatherOp>(op);
    GatherDimsAttr dims = gather.getDims();
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    kernel::WindowLayout layout(result.getRank(), kernel::typeOf(operands[0]).getRank(),
                                kernel::typeOf(operands[1]).getRank(), dims.getOffsetDims(), dims.getCollapsedDims(),
                                dims.getOperandBatchingDims(), dims.getIndexVectorDim());
    if (result.getNumElements() == 0)
      return SmallVector<Value>{tensor::EmptyOp::create(builder, result.getShape(), result.getElementType())};

    SmallVector<AffineMap> maps;
    for (unsigned component = 0; component < dims.getStartIndexMap().size(); ++component)
      maps.push_back(layout.getIndicesMap(builder, component));
    SmallVector<Value> inputs(maps.size(), operands[1]);
    bool isUnsigned = kernel::isUnsigned(kernel::elementOf(gather.getIndices()));
    auto body = [&](kernel::Builder &inner, ValueRange args) -> Value {
      SmallVector<Value> position = layout.getOffsets(inner, dims.getIndicesBatchingDims());
      for (auto [component, dim] : llvm::enumerate(dims.getStartIndexMap())) {
        int64_t last = kernel::shapeOf(operands[0])[dim] - gather.getSizes()[dim];
        Value start = kernel::toIndex(inner, args[component], isUnsigned);
        Value zero = arith::ConstantIndexOp::create(inner, 0), limit = arith::ConstantIndexOp::create(inner, last);
        start = arith::MinSIOp::create(inner, arith::MaxSIOp::create(inner, start, zero), limit);
        position[dim] = position[dim] ? arith::AddIOp::create(inner, start, position[dim]).getResult() : start;
      }
      for (Value &index : position)
        if (!index)
          index = arith::ConstantIndexOp::create(inner, 0);
      return tensor::ExtractOp::create(inner, operands[0], position);
    };
    return SmallVector<Value>{kernel::mapElements(builder, result, inputs, maps, body)};
  }
};

} // namespace

void kernel::registerGather(MLIRContext *context) { GatherOp::attachInterface<GatherKernel>(*context); }
