//===- UnscaleGradients.cpp - loss scaling: unscaled gradients, overflow --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients in 16 bits may underflow, so the loss is multiplied by a scale and every gradient is divided by it. The
// overflow flags of all gradients are joined by a chain of maxima with deferred reductions, which costs one scalar
// collective. Only local updates depend on it.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"

namespace meshwright::train {
#define GEN_PASS_DEF_UNSCALEGRADIENTSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

struct UnscaleGradientsPass : train::impl::UnscaleGradientsPassBase<UnscaleGradientsPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    Operation *scale = findNamed(*func, kLossScale);
    auto gradients = collectGradients(*func);
    if (!scale || gradients.empty())
      return;
    RoleBuilder builder(*func, net::Role::Optimize);
    net::NetBuilder build(builder, func->getLoc());
    Value factor = build.divide(build.splatLike(scale->getResult(0), 1), scale->getResult(0));
    Value found;
    for (auto &[parameter, gradient] : gradients) {
      Value unscaled = unscale(builder, gradient, factor);
      Value bad = findNotFinite(builder, unscaled);
      if (found)
        dist::setDefersReduction((found = build.binary<net::MaximumOp>(found, bad)).getDefiningOp());
      else
        found = bad;
    }
    if (net::kNameAttr.isOn(found.getDefiningOp()))
      found = net::ReshapeOp::create(builder, found.getLoc(), found.getType(), found);
    setName(found, kFoundInf);
  }

  /// Divides the gradient by the scale; the result takes over its name.
  static Value unscale(RoleBuilder &builder, Value gradient, Value factor) {
    Operation *op = gradient.getDefiningOp();
    net::NetBuilder build(builder, gradient.getLoc());
    Value like = build.broadcast(build.convert(factor, net::elementTypeOf(gradient)), net::shapeOf(gradient));
    Value unscaled = build.multiply(gradient, like);
    net::kNameAttr.set(unscaled.getDefiningOp(), net::kNameAttr.get(op));
    net::kNameAttr.remove(op);
    return unscaled;
  }

  /// 1 if an element is infinite or NaN, otherwise 0.
  static Value findNotFinite(RoleBuilder &builder, Value gradient) {
    net::NetBuilder build(builder, gradient.getLoc());
    Type bits = net::typeOf(gradient).clone(builder.getI1Type());
    Value finite = net::IsFiniteOp::create(builder, gradient.getLoc(), bits, gradient);
    Value bad = build.convert(build.unary<net::NotOp>(finite), builder.getF32Type());
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(net::typeOf(bad).getRank()));
    return build.reduce(ReduceKind::Max, bad, dims);
  }
};

} // namespace
