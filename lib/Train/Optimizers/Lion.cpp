//===- Lion.cpp - the sign of a mean of gradients -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: u = sign((1 − β₁) g + β₁ m) + λ p,  m ← (1 − β₂) g + β₂ m.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The sign of a mean of gradients in which the last one weighs more than in the mean that is kept.
class TakeSign : public GradientTransform {
public:
  TakeSign(double beta1, double beta2) : beta1(beta1), beta2(beta2) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value mean = step.readState("lion.m", u.parameter);
    step.assignState("lion.m", u.parameter, blend(build, u.update, mean, beta2));
    u.update = build.unary<net::SignOp>(blend(build, u.update, mean, beta1));
  }

private:
  double beta1, beta2;
};

} // namespace

static void addTransforms(const strategy::Lion &settings, TransformList &list) {
  list.add(std::make_unique<TakeSign>(settings.beta1(), settings.beta2()));
  list.addDecay(settings.weight_decay());
  list.addLearningRate();
}

namespace meshwright::train {
Optimizer getLion() { return makeOptimizer<strategy::Lion, addTransforms>(); }
} // namespace meshwright::train
