//===- ClipEach.cpp - bounds gradients one by one -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"
#include "lib/Strategy/strategy.pb.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// Every element is cut to [−bound, bound].
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

/// Every gradient stays what it is where its norm is below the bound, otherwise it is g / norm · bound.
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

GradientTransforms train::makeClipping(const strategy::Clip &clip) {
  GradientTransforms list;
  if (clip.value() > 0)
    list.push_back(std::make_unique<ClipByValue>(clip.value()));
  if (clip.tensor_norm() > 0)
    list.push_back(std::make_unique<ClipByTensorNorm>(clip.tensor_norm()));
  if (clip.global_norm() > 0)
    list.push_back(makeClipByGlobalNorm(clip.global_norm()));
  return list;
}
