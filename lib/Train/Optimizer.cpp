//===- Optimizer.cpp - the updates of the parameters ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards every gradient is used and every parameter that has one is assigned.
//
//===----------------------------------------------------------------------===//

#include "OptimizerSettings.h"
#include "Schedule.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-optimizer"

namespace meshwright::train {
#define GEN_PASS_DEF_OPTIMIZERPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// Scalars are of f64 if a parameter is, otherwise of f32.
static FloatType scalarTypeOf(MLIRContext *context, ArrayRef<Update> updates) {
  bool wide = llvm::any_of(updates, [](const Update &u) { return net::elementTypeOf(u.value).isF64(); });
  return wide ? FloatType(Float64Type::get(context)) : FloatType(Float32Type::get(context));
}

namespace {

/// Parameters that are updated by the same rule.
struct Group {
  explicit Group(const GroupSettings &part)
      : optimizer(part.optimizer), settings(part.settings), rate(part.rate), rateScale(part.rateScale) {}
  Group(Group &&) = default;

  const Optimizer *optimizer;
  std::shared_ptr<const Optimizer::Settings> settings;
  strategy::LearningRate rate;
  double rateScale;
  /// Updates by their number.
  SmallVector<unsigned> members;
  GradientTransforms transforms;
};

struct OptimizerPass : train::impl::OptimizerPassBase<OptimizerPass> {
  using OptimizerPassBase::OptimizerPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    FailureOr<strategy::Train> settings = parseTrain(train, getOperation());
    if (failed(settings))
      return signalPassFailure();
    FailureOr<SmallVector<Update>> collected = collectUpdates(*func);
    if (failed(collected))
      return signalPassFailure();
    SmallVector<Update> &updates = *collected;
    FailureOr<std::vector<Group>> groups = makeGroups(updates, *settings);
    if (failed(groups))
      return signalPassFailure();
    if (updates.empty()) {
      func->emitWarning() << "there are no gradients, so no parameter is updated";
      return;
    }
    RoleBuilder builder(*func, net::Role::Optimize);
    UpdateBuilder step(builder, getOperation(), *func, scalarTypeOf(&getContext(), updates));
    build(step, updates, *groups, *settings);
    numUpdates += updates.size();
    if (step.hasFailed())
      signalPassFailure();
  }

  void build(UpdateBuilder &step, MutableArrayRef<Update> updates, MutableArrayRef<Group> groups,
             const strategy::Train &settings) {
    GradientTransforms clipping = makeClipping(settings.clip());
    for (auto &transform : clipping)
      transform->prepare(step, updates);
    SmallVector<Group *> groupOf(updates.size());
    for (Group &group : groups) {
      SmallVector<Update> members;
      for (unsigned member : group.members) {
        members.push_back(updates[member]);
        groupOf[member] = &group;
      }
      // The last group names the learning rate, even where it has no parameters.
      TransformList list = makeTransforms(group, &group == &groups.back());
      group.transforms = list.take();
      for (auto &transform : group.transforms)
        if (!members.empty() || transform.get() == list.getLearningRate())
          transform->prepare(step, members);
    }
    for (auto [u, group] : llvm::zip(updates, groupOf)) {
      for (auto &transform : clipping)
        transform->apply(step, u);
      for (auto &transform : group->transforms)
        transform->apply(step, u);
      Value next = step.at(u.parameter).subtract(u.value, u.update);
      net::AssignOp::create(step.builder, u.parameter.getLoc(), u.parameter.getSymName(), next);
      if (settings.has_ema())
        average(step, u, next, settings.ema().decay());
    }
  }

  static TransformList makeTransforms(const Group &group, bool namesRate) {
    TransformList list(group.rate, group.rateScale, namesRate);
    if (double factor = getNumber(*group.settings, "l2"); factor != 0)
      list.addDecay(factor);
    group.optimizer->addTransforms(*group.settings, list);
    return list;
  }

  /// The moving average of the parameter's values, which begins with its first one.
  void average(UpdateBuilder &step, const Update &u, Value next, double decay) {
    Value isFirst =
        step.atStep().compare(net::CompareDirection::Eq, step.getCount(), step.atStep().splatLike(step.getCount(), 0));
    net::NetBuilder build = step.at(u.parameter);
    Value old =
        build.select(build.broadcast(isFirst, net::shapeOf(next)), u.value, step.readBuffer("ema", u.parameter));
    step.assignState("ema", u.parameter, blend(build, next, old, decay));
  }

  /// The parameters that have a gradient, in the order of the variables.
  FailureOr<SmallVector<Update>> collectUpdates(func::FuncOp func) {
    auto gradients = collectGradients(func);
    auto reads = collectReads(func);
    SmallVector<Update> updates;
    for (auto variable : getOperation().getOps<net::VariableOp>()) {
      Value gradient = gradients.lookup(variable.getSymName());
      if (variable.getKind() != net::VariableKind::Parameter || !gradient)
        continue;
      net::ReadOp read = reads.lookup(variable.getSymNameAttr());
      if (!read)
        return gradient.getDefiningOp()->emitError()
               << "is the gradient of @" << variable.getSymName() << ", which the step does not read";
      if (net::shapeOf(read.getResult()) != net::shapeOf(gradient))
        return gradient.getDefiningOp()->emitError() << "is the gradient of @" << variable.getSymName() << ", of "
                                                     << gradient.getType() << " where that is of " << read.getType();
      updates.push_back({variable, read.getResult(), gradient});
    }
    return updates;
  }

  /// Every glob has to match a parameter, be it one without a gradient.
  LogicalResult verifyGlobs(ArrayRef<std::string> match, ArrayRef<std::string> decay) {
    GlobList matched(match), decaying(decay);
    for (auto variable : getOperation().getOps<net::VariableOp>()) {
      if (variable.getKind() != net::VariableKind::Parameter)
        continue;
      matched.match(variable.getSymName());
      decaying.match(variable.getSymName());
    }
    return success(succeeded(verifyAllUsed(getOperation(), matched, "match", "parameters")) &&
                   succeeded(verifyAllUsed(getOperation(), decaying, "decay", "parameters")));
  }

  /// Divides the updates into groups; the first that matches counts.
  FailureOr<std::vector<Group>> makeGroups(MutableArrayRef<Update> updates, const strategy::Train &train) {
    auto parts = collectSettings(train, getOperation());
    if (failed(parts))
      return failure();
    SmallVector<bool> taken(updates.size());
    auto matches = [](ArrayRef<std::string> globs, StringRef name) {
      return globs.empty() || GlobList(globs).match(name);
    };
    std::vector<Group> groups;
    for (GroupSettings &part : *parts) {
      if (failed(verifySchedule(getOperation(), part.rate)) || failed(verifyGlobs(part.match, part.decay)))
        return failure();
      Group own(part), others(part);
      for (auto [index, u] : llvm::enumerate(updates)) {
        StringRef name = u.parameter.getSymName();
        if (taken[index] || !matches(part.match, name))
          continue;
        taken[index] = true;
        u.decays = matches(part.decay, name);
        bool isOwn = !part.optimizer->isFor || part.optimizer->isFor(u);
        (isOwn ? own : others).members.push_back(index);
      }
      groups.push_back(std::move(own));
      if (part.optimizer->makeForOthers) {
        others.settings = part.optimizer->makeForOthers(*part.settings);
        others.optimizer = findOptimizer(others.settings->GetDescriptor());
        groups.push_back(std::move(others));
      }
    }
    return groups;
  }
};

} // namespace
