//===- GradientTransforms.cpp - formulas of the optimizers ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the formulas of optax, where p is the parameter, g its gradient, n = 1 for the first update, and everything else
// is state that begins with 0:
//
//   momentum   t ← g + μ t;  u = t, or with Nesterov g + μ t
//   Adam       m ← (1 − β₁) g + β₁ m,  v ← (1 − β₂) g² + β₂ v,  u = m/(1 − β₁ⁿ) / (sqrt(v/(1 − β₂ⁿ)) + ε);  with
//              Nesterov the mean is β₁ m/(1 − β₁ⁿ⁺¹) + (1 − β₁) g/(1 − β₁ⁿ)
//   AdamW      u + λ p
//   LAMB       (u + λ p) ‖p‖/‖u + λ p‖
//   Lion       u = sign((1 − β₁) g + β₁ m) + λ p,  m ← (1 − β₂) g + β₂ m
//   RMSProp    v ← (1 − ρ) g² + ρ v,  u = g / sqrt(v + ε)
//   Adagrad    s ← s + g²,  u = g / sqrt(s + ε)
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"
#include "Schedule.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// Replaces the gradient by a decaying sum of gradients.
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

/// Adam: a moving average of gradients divided by the root of a moving average of their squares.
class ScaleByMoments : public GradientTransform {
public:
  ScaleByMoments(std::string name, const OptimizerPassOptions &options) : name(std::move(name)), options(options) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    meanCorrection = biasCorrection(step, options.beta1);
    squareCorrection = biasCorrection(step, options.beta2);
    if (options.nesterov)
      nextCorrection = biasCorrection(step, options.beta1, /*ahead=*/1);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value mean = blend(build, u.update, step.readState(name + ".m", u.parameter), options.beta1);
    Value square =
        blend(build, build.multiply(u.update, u.update), step.readState(name + ".v", u.parameter), options.beta2);
    step.assignState(name + ".m", u.parameter, mean);
    step.assignState(name + ".v", u.parameter, square);
    Value direction = options.nesterov ? blend(build, correctBias(build, u.update, meanCorrection),
                                               correctBias(build, mean, nextCorrection), options.beta1)
                                       : correctBias(build, mean, meanCorrection);
    Value size = build.unary<net::SqrtOp>(correctBias(build, square, squareCorrection));
    u.update = build.divide(direction, build.add(size, build.splatLike(size, options.eps)));
  }

private:
  std::string name;
  OptimizerPassOptions options;
  Value meanCorrection, squareCorrection, nextCorrection;
};

/// Lion: the sign of (1 − β₁) g + β₁ m, in which the newest gradient has more weight than in the stored average.
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

/// RMSProp: the gradient divided by the root of a moving average of squares.
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

/// Adagrad: the gradient divided by the root of the sum of all squares.
class ScaleBySumOfSquares : public GradientTransform {
public:
  ScaleBySumOfSquares(double initial, double eps) : initial(initial), eps(eps) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value sum = build.add(build.multiply(u.update, u.update), step.readState("adagrad.s", u.parameter, initial));
    step.assignState("adagrad.s", u.parameter, sum);
    Value factor = build.unary<net::RsqrtOp>(build.add(sum, build.splatLike(sum, eps)));
    Value isPositive = build.compare(net::CompareDirection::Gt, sum, build.splatLike(sum, 0));
    u.update = build.multiply(build.select(isPositive, factor, build.splatLike(factor, 0)), u.update);
  }

private:
  double initial, eps;
};

/// LAMB: scales the update to the norm of its parameter, unless either norm is 0.
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

/// Adds a multiple of the parameter if weight decay applies: to the gradient for L2 regularization, to the update for
/// decoupled decay as in AdamW.
class AddDecayedWeights : public GradientTransform {
public:
  explicit AddDecayedWeights(double rate) : rate(rate) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    if (u.decays)
      u.update = build.add(u.update, build.scale(u.value, rate));
  }

private:
  double rate;
};

class ScaleByLearningRate : public GradientTransform {
public:
  ScaleByLearningRate(const OptimizerPassOptions &options, bool isNamed) : options(options), isNamed(isNamed) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    net::NetBuilder build = step.atStep();
    Value count = options.schedule == ScheduleKind::Constant ? Value() : step.getCount();
    rate = buildLearningRate(build, options, step.scalarType, count);
    if (isNamed)
      rate.getDefiningOp()->setDiscardableAttr(net::kNameAttr, step.builder.getStringAttr("lr"));
    if (options.lrScale != 1)
      rate = build.scale(rate, options.lrScale);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    u.update = build.multiply(UpdateBuilder::broadcastLike(build, rate, u.update), u.update);
  }

private:
  OptimizerPassOptions options;
  bool isNamed;
  Value rate;
};

/// Adafactor: scales the update by the root mean square of its parameter.
class ScaleByParameter : public GradientTransform {
public:
  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value size = rootMeanSquare(build, u.value);
    size = build.binary<net::MaximumOp>(size, build.splatLike(size, 1e-3));
    u.update = build.multiply(u.update, UpdateBuilder::broadcastLike(build, size, u.update));
  }
};

} // namespace

GradientTransforms train::makeTransforms(const OptimizerPassOptions &options, bool namesRate) {
  GradientTransforms list;
  auto rate = [&] { return std::make_unique<ScaleByLearningRate>(options, namesRate); };
  auto decay = [&] { return std::make_unique<AddDecayedWeights>(options.weightDecay); };
  if (options.l2 != 0)
    list.push_back(std::make_unique<AddDecayedWeights>(options.l2));
  switch (options.kind) {
  case OptimizerKind::Sgd:
    break;
  case OptimizerKind::Momentum:
    list.push_back(std::make_unique<FollowMomentum>("momentum.m", options.momentum, options.nesterov));
    break;
  case OptimizerKind::Adam:
    list.push_back(std::make_unique<ScaleByMoments>("adam", options));
    break;
  case OptimizerKind::AdamW:
    list.push_back(std::make_unique<ScaleByMoments>("adamw", options));
    list.push_back(decay());
    break;
  case OptimizerKind::Lamb:
    list.push_back(std::make_unique<ScaleByMoments>("lamb", options));
    list.push_back(decay());
    list.push_back(std::make_unique<ScaleByTrustRatio>());
    break;
  case OptimizerKind::Lion:
    list.push_back(std::make_unique<TakeSign>(options.beta1, options.beta2));
    list.push_back(decay());
    break;
  case OptimizerKind::RmsProp:
    list.push_back(std::make_unique<ScaleByMeanSquare>(options.rho, options.eps));
    list.push_back(rate());
    if (options.momentum > 0)
      list.push_back(std::make_unique<FollowMomentum>("rmsprop.m", options.momentum, options.nesterov));
    return list;
  case OptimizerKind::Adagrad:
    list.push_back(std::make_unique<ScaleBySumOfSquares>(options.initial, options.eps));
    break;
  case OptimizerKind::Adafactor:
    // In optax the learning rate does not scale the decay.
    list.push_back(makeScaleByFactoredMoments(options));
    list.push_back(rate());
    if (options.scaleByParameter)
      list.push_back(std::make_unique<ScaleByParameter>());
    list.push_back(decay());
    return list;
  case OptimizerKind::Muon:
    list.push_back(makeOrthogonalize(options));
    list.push_back(decay());
    break;
  }
  list.push_back(rate());
  return list;
}
