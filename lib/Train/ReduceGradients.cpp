//===- ReduceGradients.cpp - scale and type of gradient reductions --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scaling and conversion are primitive operations, so that the serial program rounds as the distributed one does.
// `dist.defer_reduction` marks the operations that a partial gradient passes before its reduction:
//
//   BEFORE   gradient > times 1/N > to the type > | reduced here | > back
//   AFTER    gradient > to the type >             | reduced here | > back > times 1/N
//
// If forward computes in 16 bits, the gradient is a 16-bit cotangent that is widened. If the reduction takes another
// type, the widening is deferred as well: the sum over the ranks is rounded only as the strategy says.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Widening.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-reduce-gradients"

namespace meshwright::train {
#define GEN_PASS_DEF_REDUCEGRADIENTSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// The element type in which a gradient of type `own` is reduced.
static Type getReduceType(ReduceType type, Type own) {
  MLIRContext *context = own.getContext();
  switch (type) {
  case ReduceType::Gradient:
    return own;
  case ReduceType::F32:
    return Float32Type::get(context);
  case ReduceType::BF16:
    return BFloat16Type::get(context);
  case ReduceType::F16:
    return Float16Type::get(context);
  }
  return own;
}

/// Marks the operation of `value`, if it is a new one, so that a reduction of its operand is deferred.
static Value travelling(Value value, Value from) {
  if (value != from)
    dist::setDefersReduction(value.getDefiningOp());
  return value;
}

namespace {

struct ReduceGradientsPass : train::impl::ReduceGradientsPassBase<ReduceGradientsPass> {
  using ReduceGradientsPassBase::ReduceGradientsPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    if (replicas < 1) {
      getOperation().emitError() << "the batch is split over " << replicas.getValue() << " ranks; there is at least 1";
      return signalPassFailure();
    }
    RoleBuilder builder(*func, net::Role::Backward);
    for (auto &[parameter, gradient] : collectGradients(*func))
      rewrite(builder, gradient);
  }

  void rewrite(RoleBuilder &builder, Value gradient) {
    Operation *op = gradient.getDefiningOp();
    builder.setScope(net::kScopeAttr.get(op));
    builder.setInsertionPointAfter(op);
    net::NetBuilder build(builder, gradient.getLoc());
    Type own = net::elementTypeOf(gradient);
    Widening widening(gradient);
    Type source = widening.getSource() ? widening.getSource() : own, travel = getReduceType(communicate, source);
    Value next = gradient;
    if (scale == ReduceScale::Before || travel != widening.getSource()) {
      widening.setDefersReduction();
      if (scale == ReduceScale::Before)
        next = travelling(divide(build, next), next);
      next = travelling(build.convert(next, travel), next);
      next = build.convert(next, own);
    }
    if (scale == ReduceScale::After)
      next = divide(build, next);
    if (next == gradient)
      return;
    // Consumers of gradients come later and find them by name; other uses of the original value keep it.
    net::kNameAttr.set(next.getDefiningOp(), net::kNameAttr.get(op));
    net::kNameAttr.remove(op);
    ++numRewritten;
  }

  /// `value` divided by the number of replicas, the factor by which the loss cotangent is too large.
  Value divide(net::NetBuilder &build, Value value) {
    return replicas == 1 ? value : build.scale(value, 1.0 / static_cast<double>(replicas));
  }
};

} // namespace
