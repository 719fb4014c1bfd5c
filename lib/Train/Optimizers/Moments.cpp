//===- Moments.cpp - means of gradients and of their squares --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the formulas of optax, where g is the gradient, n = 1 for the first update, and everything else is state that
// begins with 0:
//
//   momentum   t ← g + μ t;  u = t, or with Nesterov g + μ t
//   Adam       m ← (1 − β₁) g + β₁ m,  v ← (1 − β₂) g² + β₂ v,  u = m/(1 − β₁ⁿ) / (sqrt(v/(1 − β₂ⁿ)) + ε);  with
//              Nesterov the mean is β₁ m/(1 − β₁ⁿ⁺¹) + (1 − β₁) g/(1 − β₁ⁿ)
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The gradient gives way to a decaying sum of gradients.
class FollowMomentum : public GradientTransform {
public:
  FollowMomentum(std::string name, double decay, bool nesterov)
      : name(std::move(name)), decay(decay), nesterov(nesterov) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value next = build.add(u.update, build.scale(step.readState(name, u.parameter), decay));
    step.assignState(name, u.parameter, next);
    u.update = nesterov ? build.add(u.update, build.scale(next, decay)) : next;
  }

private:
  std::string name;
  double decay;
  bool nesterov;
};

/// The mean of gradients over the root of the mean of their squares.
class ScaleByMoments : public GradientTransform {
public:
  explicit ScaleByMoments(Moments moments) : options(std::move(moments)) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    meanCorrection = biasCorrection(step, options.beta1);
    squareCorrection = biasCorrection(step, options.beta2);
    if (options.nesterov)
      nextCorrection = biasCorrection(step, options.beta1, /*ahead=*/1);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value mean = blend(build, u.update, step.readState(options.name + ".m", u.parameter), options.beta1);
    Value square = blend(build, build.multiply(u.update, u.update), step.readState(options.name + ".v", u.parameter),
                         options.beta2);
    step.assignState(options.name + ".m", u.parameter, mean);
    step.assignState(options.name + ".v", u.parameter, square);
    Value direction = options.nesterov ? blend(build, correctBias(build, u.update, meanCorrection),
                                               correctBias(build, mean, nextCorrection), options.beta1)
                                       : correctBias(build, mean, meanCorrection);
    Value size = build.unary<net::SqrtOp>(correctBias(build, square, squareCorrection));
    u.update = build.divide(direction, build.add(size, build.splatLike(size, options.eps)));
  }

private:
  Moments options;
  Value meanCorrection, squareCorrection, nextCorrection;
};

} // namespace

std::unique_ptr<GradientTransform> train::makeFollowMomentum(std::string name, double decay, bool nesterov) {
  return std::make_unique<FollowMomentum>(std::move(name), decay, nesterov);
}

std::unique_ptr<GradientTransform> train::makeScaleByMoments(Moments moments) {
  return std::make_unique<ScaleByMoments>(std::move(moments));
}
