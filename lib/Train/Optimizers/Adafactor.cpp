//===- Adafactor.cpp - scales by factored mean squares --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With optax's formulas: where the second largest dimension has enough indices, the mean squares s = g² + ε of an
// element are estimated from those of its row and its column, whose sizes add up where those of the elements multiply:
//
//   r ← δ r + (1 − δ) mean of s along the largest dimension,  c ← the same along the second largest
//   u = g / sqrt(r / mean of r · c),  δ = 1 − n^(−decay-rate) for the n-th update
//
// Elsewhere v ← δ v + (1 − δ) s and u = g / sqrt(v). Then u is scaled down to a bounded root mean square. The states r
// and c have size 1 where they are means, and so are split where the parameter is.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

class ScaleByFactoredMoments : public GradientTransform {
public:
  explicit ScaleByFactoredMoments(const strategy::Adafactor &settings) : settings(settings) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    net::NetBuilder build = step.atStep();
    Value number = build.add(step.getCount(), build.splatLike(step.getCount(), 1));
    fresh = build.binary<net::PowerOp>(number, build.splatLike(number, -settings.decay_rate()));
    kept = build.subtractFrom(1, fresh);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value square = build.add(build.multiply(u.update, u.update), build.splatLike(u.update, settings.eps()));
    if (auto dims = getFactoredDims(net::shapeOf(u.update)))
      scaleFactored(step, build, u, square, dims->first, dims->second);
    else
      u.update = build.multiply(u.update, build.unary<net::RsqrtOp>(follow(step, build, u, "adafactor.v", square)));
    if (settings.clip_rms() > 0)
      clip(build, u);
  }

private:
  /// The second largest dimension and the largest, the later of equal ones counting as larger.
  std::optional<std::pair<int64_t, int64_t>> getFactoredDims(ArrayRef<int64_t> shape) const {
    if (shape.size() < 2)
      return std::nullopt;
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
    llvm::stable_sort(order, [&](int64_t left, int64_t right) { return shape[left] < shape[right]; });
    int64_t second = order[order.size() - 2];
    if (shape[second] < settings.min_dim())
      return std::nullopt;
    return std::pair(second, order.back());
  }

  /// The state after this update, which takes in `value`.
  Value follow(UpdateBuilder &step, net::NetBuilder &build, Update &u, StringRef name, Value value) {
    Value old = step.readState(name, u.parameter, net::shapeOf(value));
    Value next = build.add(build.multiply(UpdateBuilder::broadcastLike(build, kept, old), old),
                           build.multiply(UpdateBuilder::broadcastLike(build, fresh, value), value));
    step.assignState(name, u.parameter, next);
    return next;
  }

  /// The mean along `dim`, which stays with size 1.
  static Value mean(net::NetBuilder &build, Value x, int64_t dim) {
    SmallVector<int64_t> shape(net::shapeOf(x));
    auto size = static_cast<double>(shape[dim]);
    shape[dim] = 1;
    return build.reshape(build.scale(build.reduce(ReduceKind::Sum, x, {dim}), 1 / size), shape);
  }

  /// `x` repeated along the dimensions in which it has size 1.
  static Value repeat(net::NetBuilder &build, Value x, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> sizes, dims;
    for (auto [dim, size] : llvm::enumerate(net::shapeOf(x)))
      if (size == shape[dim]) {
        sizes.push_back(size);
        dims.push_back(static_cast<int64_t>(dim));
      }
    return build.broadcast(build.reshape(x, sizes), shape, dims);
  }

  void scaleFactored(UpdateBuilder &step, net::NetBuilder &build, Update &u, Value square, int64_t second,
                     int64_t largest) {
    ArrayRef<int64_t> shape = net::shapeOf(u.update);
    Value rows = follow(step, build, u, "adafactor.r", mean(build, square, largest));
    Value columns = follow(step, build, u, "adafactor.c", mean(build, square, second));
    Value share = build.divide(rows, repeat(build, mean(build, rows, second), net::shapeOf(rows)));
    Value rowFactor = build.unary<net::RsqrtOp>(share), columnFactor = build.unary<net::RsqrtOp>(columns);
    u.update =
        build.multiply(build.multiply(u.update, repeat(build, rowFactor, shape)), repeat(build, columnFactor, shape));
  }

  void clip(net::NetBuilder &build, Update &u) const {
    Value size = build.scale(rootMeanSquare(build, u.update), 1 / settings.clip_rms());
    size = build.binary<net::MaximumOp>(size, build.splatLike(size, 1));
    u.update = build.divide(u.update, UpdateBuilder::broadcastLike(build, size, u.update));
  }

  strategy::Adafactor settings;
  /// 1 − δ and δ.
  Value fresh, kept;
};

/// The update grows with the root mean square of its parameter.
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

static void addTransforms(const strategy::Adafactor &settings, TransformList &list) {
  list.add(std::make_unique<ScaleByFactoredMoments>(settings));
  list.addLearningRate();
  if (settings.scale_by_parameter())
    list.add(std::make_unique<ScaleByParameter>());
  // The learning rate does not scale the decay.
  list.addDecay(settings.weight_decay());
}

namespace meshwright::train {
Optimizer getAdafactor() { return makeOptimizer<strategy::Adafactor, addTransforms>(); }
} // namespace meshwright::train
