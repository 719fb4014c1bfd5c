//===- Muon.cpp - Muon: orthogonalized updates ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: X starts as the moving average of gradients (with Nesterov's correction) divided by its norm,
// and goes through `ns-steps` quintic Newton-Schulz iterations
//
//   X ← c₀ X + (c₁ A + c₂ A²) X,  A = X Xᵀ
//
// on the side on which A is smaller. The result is scaled by sqrt(max(1, columns/rows)), or by sqrt(max(columns, rows))
// times the option `consistent-rms`.
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static constexpr double kQuintic[] = {3.4445, -4.7750, 2.0315};

namespace {

class Orthogonalize : public GradientTransform {
public:
  explicit Orthogonalize(const OptimizerPassOptions &options) : options(options) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    correction = biasCorrection(step, options.beta);
    if (options.nesterov)
      nextCorrection = biasCorrection(step, options.beta, /*ahead=*/1);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value mean = blend(build, u.update, step.readState("muon.m", u.parameter), options.beta);
    step.assignState("muon.m", u.parameter, mean);
    Value x = options.nesterov ? blend(build, correctBias(build, u.update, correction),
                                       correctBias(build, mean, nextCorrection), options.beta)
                               : correctBias(build, mean, correction);
    Value size = build.unary<net::SqrtOp>(sumOfSquares(build, x));
    size = build.add(size, build.splatLike(size, options.eps));
    x = build.divide(x, UpdateBuilder::broadcastLike(build, size, x));
    for (int64_t count = 0; count < options.nsSteps; ++count)
      x = iterate(build, x);
    u.update = build.scale(x, getScale(net::shapeOf(x)));
  }

private:
  /// One iteration; with X X^T or X^T X, whichever is smaller. Both give the same X.
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
    if (options.consistentRms > 0)
      return std::sqrt(std::max(rows, columns)) * options.consistentRms;
    return std::sqrt(std::max(1.0, columns / rows));
  }

  OptimizerPassOptions options;
  Value correction, nextCorrection;
};

} // namespace

std::unique_ptr<GradientTransform> train::makeOrthogonalize(const OptimizerPassOptions &options) {
  return std::make_unique<Orthogonalize>(options);
}
