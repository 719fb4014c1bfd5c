//===- Adagrad.cpp - gradients over the root of the sum of squares --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: s ← s + g²,  u = g / sqrt(s + ε).
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The gradient over the root of the sum of all squares.
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

} // namespace

static void addTransforms(const strategy::Adagrad &settings, TransformList &list) {
  list.add(std::make_unique<ScaleBySumOfSquares>(settings.initial(), settings.eps()));
  list.addLearningRate();
}

namespace meshwright::train {
Optimizer getAdagrad() { return makeOptimizer<strategy::Adagrad, addTransforms>(); }
} // namespace meshwright::train
