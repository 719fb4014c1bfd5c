//===- ClipByGlobalNorm.cpp - clipping by the global norm -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formula: a gradient is unchanged if the norm is below the bound, otherwise it becomes g / norm · bound.
//
// The squared norms are added in one chain of deferred reductions (`dist.defer_reduction`): however the gradients are
// split, the sum is reduced once, over all axes. A value that several ranks hold counts once, because conversion to a
// partial sum lets one of its owners keep it.
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"
#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

class ClipByGlobalNorm : public GradientTransform {
public:
  explicit ClipByGlobalNorm(double bound) : bound(bound) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update> updates) override {
    Value sum;
    for (const Update &u : updates) {
      net::NetBuilder build = step.at(u.parameter);
      Value square = sumOfSquares(build, build.convert(u.update, step.scalarType));
      if (sum)
        dist::setDefersReduction((sum = build.add(sum, square)).getDefiningOp());
      else
        sum = square;
    }
    net::NetBuilder build = step.atStep();
    norm = build.unary<net::SqrtOp>(sum);
    net::kNameAttr.set(norm.getDefiningOp(), step.builder.getStringAttr(kGradientNorm));
    isBelow = build.compare(net::CompareDirection::Lt, norm, build.splatLike(norm, bound));
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value direction = build.divide(u.update, UpdateBuilder::broadcastLike(build, norm, u.update));
    Value stays = build.broadcast(isBelow, net::shapeOf(u.update));
    u.update = build.select(stays, u.update, build.scale(direction, bound));
  }

private:
  double bound;
  Value norm, isBelow;
};

} // namespace

std::unique_ptr<GradientTransform> train::makeClipByGlobalNorm(double bound) {
  return std::make_unique<ClipByGlobalNorm>(bound);
}
