//===- RmsProp.cpp - gradients over the root of their mean square ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: v ← (1 − ρ) g² + ρ v,  u = g / sqrt(v + ε).
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The gradient over the root of a decaying mean of squares.
class ScaleByMeanSquare : public GradientTransform {
public:
  ScaleByMeanSquare(double decay, double eps) : decay(decay), eps(eps) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value square = blend(build, build.multiply(u.update, u.update), step.readState("rmsprop.v", u.parameter), decay);
    step.assignState("rmsprop.v", u.parameter, square);
    u.update = build.multiply(build.unary<net::RsqrtOp>(build.add(square, build.splatLike(square, eps))), u.update);
  }

private:
  double decay, eps;
};

} // namespace

static void addTransforms(const strategy::RmsProp &settings, TransformList &list) {
  list.add(std::make_unique<ScaleByMeanSquare>(settings.rho(), settings.eps()));
  list.addLearningRate();
  // The momentum is that of the updates, after the learning rate.
  if (settings.momentum() > 0)
    list.add(makeFollowMomentum("rmsprop.m", settings.momentum(), settings.nesterov()));
}

namespace meshwright::train {
Optimizer getRmsProp() { return makeOptimizer<strategy::RmsProp, addTransforms>(); }
} // namespace meshwright::train
