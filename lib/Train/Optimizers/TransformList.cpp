//===- TransformList.cpp - learning rates and weight decay ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Schedule.h"
#include "Optimizers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// A part of the parameter is added, where it decays: to the gradient it is L2 regularization, to the update the decay
/// of AdamW.
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
  ScaleByLearningRate(strategy::LearningRate schedule, double scale, bool isNamed)
      : schedule(std::move(schedule)), scale(scale), isNamed(isNamed) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    net::NetBuilder build = step.atStep();
    Value count = isConstant(schedule) ? Value() : step.getCount();
    rate = buildLearningRate(build, schedule, step.scalarType, count);
    if (isNamed)
      net::kNameAttr.set(rate.getDefiningOp(), step.builder.getStringAttr("lr"));
    if (scale != 1)
      rate = build.scale(rate, scale);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    u.update = build.multiply(UpdateBuilder::broadcastLike(build, rate, u.update), u.update);
  }

private:
  strategy::LearningRate schedule;
  double scale;
  bool isNamed;
  Value rate;
};

} // namespace

void TransformList::addDecay(double factor) { add(std::make_unique<AddDecayedWeights>(factor)); }

void TransformList::addLearningRate() {
  add(std::make_unique<ScaleByLearningRate>(rate, scale, namesRate));
  learningRate = list.back().get();
}
