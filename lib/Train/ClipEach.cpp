//===- ClipEach.cpp - clipping of single gradients ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// Clamps every element to [−bound, bound].
class ClipByValue : public GradientTransform {
public:
  explicit ClipByValue(double bound) : bound(bound) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    u.update = build.binary<net::MaximumOp>(u.update, build.splatLike(u.update, -bound));
    u.update = build.binary<net::MinimumOp>(u.update, build.splatLike(u.update, bound));
  }

private:
  double bound;
};

/// Leaves a gradient unchanged if its norm is below the bound; otherwise makes it g / norm · bound.
class ClipByTensorNorm : public GradientTransform {
public:
  explicit ClipByTensorNorm(double bound) : bound(bound) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value norm = build.unary<net::SqrtOp>(sumOfSquares(build, build.convert(u.update, step.scalarType)));
    Value isBelow = build.compare(net::CompareDirection::Lt, norm, build.splatLike(norm, bound));
    Value direction = build.divide(u.update, UpdateBuilder::broadcastLike(build, norm, u.update));
    Value stays = build.broadcast(isBelow, net::shapeOf(u.update));
    u.update = build.select(stays, u.update, build.scale(direction, bound));
  }

private:
  double bound;
};

} // namespace

GradientTransforms train::makeClipping(const OptimizerPassOptions &options) {
  GradientTransforms list;
  if (options.clipValue > 0)
    list.push_back(std::make_unique<ClipByValue>(options.clipValue));
  if (options.clipTensorNorm > 0)
    list.push_back(std::make_unique<ClipByTensorNorm>(options.clipTensorNorm));
  if (options.clipGlobalNorm > 0)
    list.push_back(makeClipByGlobalNorm(options.clipGlobalNorm));
  return list;
}
