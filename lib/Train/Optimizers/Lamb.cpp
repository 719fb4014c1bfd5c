//===- Lamb.cpp - AdamW with the norm of the parameter --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the update u of Adam, in Moments.cpp, and the parameter p: (u + λ p) ‖p‖/‖u + λ p‖, as in optax.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The update gets the norm of its parameter, where neither is 0.
class ScaleByTrustRatio : public GradientTransform {
public:
  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value own = build.unary<net::SqrtOp>(sumOfSquares(build, u.value));
    Value change = build.unary<net::SqrtOp>(sumOfSquares(build, u.update));
    Value zero = build.splatLike(own, 0), one = build.splatLike(own, 1);
    Value isEither = build.binary<net::OrOp>(build.compare(net::CompareDirection::Eq, own, zero),
                                             build.compare(net::CompareDirection::Eq, change, zero));
    Value ratio = build.select(isEither, one, build.divide(own, change));
    u.update = build.multiply(u.update, UpdateBuilder::broadcastLike(build, ratio, u.update));
  }
};

} // namespace

static void addTransforms(const strategy::Lamb &settings, TransformList &list) {
  list.add(makeScaleByMoments(
      {.name = "lamb", .beta1 = settings.beta1(), .beta2 = settings.beta2(), .eps = settings.eps()}));
  list.addDecay(settings.weight_decay());
  list.add(std::make_unique<ScaleByTrustRatio>());
  list.addLearningRate();
}

namespace meshwright::train {
Optimizer getLamb() { return makeOptimizer<strategy::Lamb, addTransforms>(); }
} // namespace meshwright::train
