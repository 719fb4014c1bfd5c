//===- GradientTransforms.cpp - from gradients to updates -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the formulas of optax:
//
//   momentum   t ← g + μ t;  u = t, or with Nesterov g + μ t
//   Adam       m ← (1 − β₁) g + β₁ m,  v ← (1 − β₂) g² + β₂ v,  u = m/(1 − β₁ⁿ) / (sqrt(v/(1 − β₂ⁿ)) + ε), n = 1 for
//   the first AdamW      u + λ p
//
//===----------------------------------------------------------------------===//

#include "lib/Train/GradientTransforms.h"
#include "lib/Train/Schedule.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

//===----------------------------------------------------------------------===//
// State and scalars
//===----------------------------------------------------------------------===//

UpdateBuilder::UpdateBuilder(RoleBuilder &builder, ModuleOp module, func::FuncOp func, FloatType scalarType)
    : builder(builder), scalarType(scalarType), func(func), symbols(module) {
  for (auto variable : module.getOps<net::VariableOp>())
    lastVariable = variable;
  for (auto read : func.getOps<net::ReadOp>())
    lastRead = read;
}

void UpdateBuilder::claimName(Location location, StringRef name) {
  Operation *other = symbols.lookup(name);
  if (other == func) {
    // The function's own name means nothing to anybody, that of a variable is its key in files.
    symbols.remove(func);
    func.setSymName(("train_" + name).str());
    symbols.insert(func);
  } else if (other) {
    auto diagnostic = emitError(location) << "the optimizer needs a variable @" << name << ", which exists already";
    diagnostic.attachNote(other->getLoc()) << "it is here";
    failed = true;
  }
}

net::VariableOp UpdateBuilder::makeVariable(Location location, StringRef name, net::VariableKind kind,
                                            RankedTensorType type, FlatSymbolRefAttr like) {
  claimName(location, name);
  OpBuilder module(builder.getContext());
  module.setInsertionPointAfter(lastVariable);
  auto init = net::InitializerAttr::get(builder.getContext(), net::InitializerKind::Constant, 0.0);
  auto variable = net::VariableOp::create(module, location, kind, name, type, init, like);
  lastVariable = variable;
  return variable;
}

Value UpdateBuilder::read(net::VariableOp variable) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastRead);
  auto read = net::ReadOp::create(builder, variable.getLoc(), variable.getTensorType(), variable.getSymName());
  lastRead = read;
  return read;
}

static std::string stateName(StringRef prefix, net::VariableOp parameter) {
  return (prefix + "/" + parameter.getSymName()).str();
}

Value UpdateBuilder::readState(StringRef prefix, net::VariableOp parameter) {
  return read(makeVariable(parameter.getLoc(), stateName(prefix, parameter), net::VariableKind::OptimizerState,
                           parameter.getTensorType(), FlatSymbolRefAttr::get(parameter.getSymNameAttr())));
}

void UpdateBuilder::assignState(StringRef prefix, net::VariableOp parameter, Value value) {
  net::AssignOp::create(builder, parameter.getLoc(), stateName(prefix, parameter), value);
}

Value UpdateBuilder::getCount() {
  if (count)
    return count;
  net::NetBuilder build = atStep();
  auto type = RankedTensorType::get({}, builder.getI32Type());
  net::VariableOp counter = makeVariable(build.location, "step", net::VariableKind::Counter, type, {});
  Value steps = read(counter);
  net::AssignOp::create(builder, build.location, counter.getSymName(), build.add(steps, build.splat(type, 1)));
  return count = build.convert(steps, scalarType);
}

Value UpdateBuilder::broadcastLike(net::NetBuilder &build, Value scalar, Value like) {
  return build.broadcast(build.convert(scalar, net::elementTypeOf(like)), net::shapeOf(like));
}

//===----------------------------------------------------------------------===//
// Transformations
//===----------------------------------------------------------------------===//

/// decay · old + (1 − decay) · fresh.
static Value blend(net::NetBuilder &build, Value fresh, Value old, double decay) {
  return build.add(build.scale(fresh, 1 - decay), build.scale(old, decay));
}

namespace {

/// The gradient gives way to a decaying sum of gradients.
class FollowMomentum : public GradientTransform {
public:
  FollowMomentum(double decay, bool nesterov) : decay(decay), nesterov(nesterov) {}

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value next = build.add(u.update, build.scale(step.readState("momentum.m", u.parameter), decay));
    step.assignState("momentum.m", u.parameter, next);
    u.update = nesterov ? build.add(u.update, build.scale(next, decay)) : next;
  }

private:
  double decay;
  bool nesterov;
};

/// Adam: the mean of gradients over the root of the mean of their squares.
class ScaleByMoments : public GradientTransform {
public:
  ScaleByMoments(std::string name, double beta1, double beta2, double eps)
      : name(std::move(name)), beta1(beta1), beta2(beta2), eps(eps) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    meanCorrection = biasCorrection(step, beta1);
    squareCorrection = biasCorrection(step, beta2);
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    Value mean = blend(build, u.update, step.readState(name + ".m", u.parameter), beta1);
    Value square = blend(build, build.multiply(u.update, u.update), step.readState(name + ".v", u.parameter), beta2);
    step.assignState(name + ".m", u.parameter, mean);
    step.assignState(name + ".v", u.parameter, square);
    Value direction = build.divide(mean, UpdateBuilder::broadcastLike(build, meanCorrection, mean));
    Value size = build.divide(square, UpdateBuilder::broadcastLike(build, squareCorrection, square));
    u.update = build.divide(direction, build.add(build.unary<net::SqrtOp>(size), build.splatLike(size, eps)));
  }

private:
  /// 1 − decayⁿ for the n-th update.
  static Value biasCorrection(UpdateBuilder &step, double decay) {
    net::NetBuilder build = step.atStep();
    Value updates = build.add(step.getCount(), build.splatLike(step.getCount(), 1));
    return build.subtractFrom(1, build.binary<net::PowerOp>(build.splatLike(updates, decay), updates));
  }

  std::string name;
  double beta1, beta2, eps;
  Value meanCorrection, squareCorrection;
};

/// AdamW: a part of the parameter is added, where it decays.
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
  explicit ScaleByLearningRate(const OptimizerPassOptions &options) : options(options) {}

  void prepare(UpdateBuilder &step, ArrayRef<Update>) override {
    net::NetBuilder build = step.atStep();
    Value count = options.schedule == ScheduleKind::Constant ? Value() : step.getCount();
    rate = buildLearningRate(build, options, step.scalarType, count);
    rate.getDefiningOp()->setDiscardableAttr(net::kNameAttr, step.builder.getStringAttr("lr"));
  }

  void apply(UpdateBuilder &step, Update &u) override {
    net::NetBuilder build = step.at(u.parameter);
    u.update = build.multiply(UpdateBuilder::broadcastLike(build, rate, u.update), u.update);
  }

private:
  const OptimizerPassOptions &options;
  Value rate;
};

} // namespace

SmallVector<std::unique_ptr<GradientTransform>> train::makeTransforms(const OptimizerPassOptions &options) {
  SmallVector<std::unique_ptr<GradientTransform>> transforms;
  if (options.clipGlobalNorm > 0)
    transforms.push_back(makeClipByGlobalNorm(options.clipGlobalNorm));
  if (options.kind == OptimizerKind::Momentum)
    transforms.push_back(std::make_unique<FollowMomentum>(options.momentum, options.nesterov));
  if (options.kind == OptimizerKind::Adam)
    transforms.push_back(std::make_unique<ScaleByMoments>("adam", options.beta1, options.beta2, options.eps));
  if (options.kind == OptimizerKind::AdamW) {
    transforms.push_back(std::make_unique<ScaleByMoments>("adamw", options.beta1, options.beta2, options.eps));
    transforms.push_back(std::make_unique<AddDecayedWeights>(options.weightDecay));
  }
  transforms.push_back(std::make_unique<ScaleByLearningRate>(options));
  return transforms;
}
