//===- Muon.cpp - updates with singular values near 1 ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: X begins as the mean of gradients (looking ahead with Nesterov) over its norm, and then goes
// so many times through the quintic iteration
//
//   X ← c₀ X + (c₁ A + c₂ A²) X,  A = X Xᵀ
//
// from the side on which A is smaller; the result is scaled by sqrt(max(1, columns/rows)), or by
// sqrt(max(columns, rows)) times a root mean square that was asked for.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static constexpr double kQuintic[] = {3.4445, -4.7750, 2.0315};

namespace {

class Orthogonalize : public GradientTransform {
public:
  explicit Orthogonalize(const strategy::Muon &settings) : settings(settings) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    correction = biasCorrection(step, settings.beta());
    if (settings.nesterov())
      nextCorrection = biasCorrection(step, settings.beta(), /*ahead=*/1);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value mean = blend(build, u.update, step.readState("muon.m", u.parameter), settings.beta());
    step.assignState("muon.m", u.parameter, mean);
    Value x = settings.nesterov() ? blend(build, correctBias(build, u.update, correction),
                                          correctBias(build, mean, nextCorrection), settings.beta())
                                  : correctBias(build, mean, correction);
    Value size = build.unary<net::SqrtOp>(sumOfSquares(build, x));
    size = build.add(size, build.splatLike(size, settings.eps()));
    x = build.divide(x, UpdateBuilder::broadcastLike(build, size, x));
    for (int64_t count = 0; count < settings.ns_steps(); ++count)
      x = iterate(build, x);
    u.update = build.scale(x, getScale(net::shapeOf(x)));
  }

private:
  /// One iteration, along the columns where there are fewer of them than rows: both give the same X.
  static Value iterate(net::NetBuilder &build, Value x) {
    Type type = net::elementTypeOf(x);
    bool isTall = net::shapeOf(x)[0] > net::shapeOf(x)[1];
    int64_t dim = isTall ? 0 : 1;
    Value a = build.dot(x, x, {}, {}, {dim}, {dim}, type);
    Value b = build.add(build.scale(a, kQuintic[1]), build.dot(build.scale(a, kQuintic[2]), a, {}, {}, {1}, {0}, type));
    Value bx = isTall ? build.dot(x, b, {}, {}, {1}, {1}, type) : build.dot(b, x, {}, {}, {1}, {0}, type);
    return build.add(build.scale(x, kQuintic[0]), bx);
  }

  double getScale(ArrayRef<int64_t> shape) const {
    auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
    if (settings.consistent_rms() > 0)
      return std::sqrt(std::max(rows, columns)) * settings.consistent_rms();
    return std::sqrt(std::max(1.0, columns / rows));
  }

  strategy::Muon settings;
  Value correction, nextCorrection;
};

} // namespace

static void addTransforms(const strategy::Muon &settings, TransformList &list) {
  list.add(std::make_unique<Orthogonalize>(settings));
  list.addDecay(settings.weight_decay());
  list.addLearningRate();
}

static bool isMatrix(const Update &update) { return net::typeOf(update.value).getRank() == 2; }

/// AdamW, for parameters that are no matrices.
static std::unique_ptr<Optimizer::Settings> makeForOthers(const Optimizer::Settings &settings) {
  const auto &muon = static_cast<const strategy::Muon &>(settings);
  auto adamw = std::make_unique<strategy::AdamW>();
  *adamw->mutable_lr() = muon.lr();
  adamw->set_beta1(muon.adam_beta1());
  adamw->set_beta2(muon.adam_beta2());
  adamw->set_eps(muon.eps());
  adamw->set_weight_decay(muon.adam_weight_decay());
  adamw->set_nesterov(muon.nesterov());
  return adamw;
}

namespace meshwright::train {
Optimizer getMuon() {
  Optimizer muon = makeOptimizer<strategy::Muon, addTransforms>();
  muon.isFor = isMatrix;
  muon.makeForOthers = makeForOthers;
  return muon;
}
} // namespace meshwright::train
