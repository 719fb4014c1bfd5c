//===- Costs.cpp - FLOPs and bytes of the operations of net ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point operations as papers count them: two per multiply-add of a product, one per element that is reduced or
// computed, none for moving elements. An operation that would take more of them than 63 bits count takes as many.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "meshwright/Rules/Rules.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

/// The product of counts, at most the largest number.
static int64_t multiply(std::initializer_list<int64_t> counts) {
  int64_t product = 1;
  for (int64_t count : counts)
    if (llvm::MulOverflow(product, count, product))
      product = std::numeric_limits<int64_t>::max();
  return product;
}

static int64_t countElements(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

namespace {

struct DotCost : CostOpInterface::ExternalModel<DotCost, DotOp> {
  int64_t getFlops(Operation *op) const {
    auto dot = cast<DotOp>(op);
    int64_t flops = multiply({2, countElements(dot.getResult())});
    for (int64_t dim : dot.getLhsContract())
      flops = multiply({flops, cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(dim)});
    return flops;
  }
};

/// A third of the cube of the size, for every matrix.
struct CholeskyCost : CostOpInterface::ExternalModel<CholeskyCost, CholeskyOp> {
  int64_t getFlops(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    return multiply({type.getNumElements(), type.getShape().back()}) / 3;
  }
};

/// The square of the size, for every column of every right-hand side.
struct TriangularSolveCost : CostOpInterface::ExternalModel<TriangularSolveCost, TriangularSolveOp> {
  int64_t getFlops(Operation *op) const {
    auto solve = cast<TriangularSolveOp>(op);
    return multiply({countElements(solve.getResult()), solve.getLhs().getType().getShape().back()});
  }
};

struct ConvolutionCost : CostOpInterface::ExternalModel<ConvolutionCost, ConvolutionOp> {
  /// Two FLOPs per product, for every element of the result; products with padding and dilation are counted, as
  /// libraries do.
  int64_t getFlops(Operation *op) const {
    auto convolution = cast<ConvolutionOp>(op);
    auto outputs =
        cast<RankedTensorType>(convolution.getRhs().getType()).getDimSize(convolution.getDims().getRhsOutput());
    if (outputs == 0)
      return 0;
    return multiply({2, countElements(convolution.getResult()), countElements(convolution.getRhs()) / outputs});
  }
};

/// One per element that a window may show.
template <typename OpT> struct WindowCost : CostOpInterface::ExternalModel<WindowCost<OpT>, OpT> {
  int64_t getFlops(Operation *op) const {
    // The windows stand at the places of the last value: the source that is scattered, or the result.
    int64_t flops = countElements(isa<SelectAndScatterOp>(op) ? op->getOperand(1) : op->getResult(0));
    for (int64_t size : cast<OpT>(op).getSizes())
      flops = multiply({flops, size});
    return flops;
  }
};

/// One per element of the first operand.
template <typename OpT> struct ReductionCost : CostOpInterface::ExternalModel<ReductionCost<OpT>, OpT> {
  int64_t getFlops(Operation *op) const { return countElements(op->getOperand(0)); }
};

struct ScatterCost : CostOpInterface::ExternalModel<ScatterCost, ScatterOp> {
  int64_t getFlops(Operation *op) const {
    auto scatter = cast<ScatterOp>(op);
    return scatter.getKind() == ScatterKind::Assign ? 0 : countElements(scatter.getUpdates());
  }
};

/// Moving elements, naming variables and knowing constants computes nothing.
template <typename OpT> struct NoCost : CostOpInterface::ExternalModel<NoCost<OpT>, OpT> {
  int64_t getFlops(Operation *) const { return 0; }
};

template <typename... OpTs> void attachNoCost(MLIRContext *context) {
  (OpTs::template attachInterface<NoCost<OpTs>>(*context), ...);
}

} // namespace

void meshwright::registerNetCosts(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NetDialect *) {
    DotOp::attachInterface<DotCost>(*context);
    ReduceOp::attachInterface<ReductionCost<ReduceOp>>(*context);
    ArgReduceOp::attachInterface<ReductionCost<ArgReduceOp>>(*context);
    ScatterOp::attachInterface<ScatterCost>(*context);
    CholeskyOp::attachInterface<CholeskyCost>(*context);
    TriangularSolveOp::attachInterface<TriangularSolveCost>(*context);
    ConvolutionOp::attachInterface<ConvolutionCost>(*context);
    ReduceWindowOp::attachInterface<WindowCost<ReduceWindowOp>>(*context);
    SelectAndScatterOp::attachInterface<WindowCost<SelectAndScatterOp>>(*context);
    attachNoCost<ConstantOp, IotaOp, BroadcastOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatenateOp, GatherOp,
                 DynamicSliceOp, DynamicUpdateSliceOp, ReverseOp, ReadOp, AssignOp, VariableOp, ConvertOp,
                 BitcastConvertOp, SelectOp>(context);
  });
}
