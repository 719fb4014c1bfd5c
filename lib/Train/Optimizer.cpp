//===- Optimizer.cpp - updates of the parameters --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups the parameters, applies clipping and the transforms of each group to the gradients, and assigns the
// parameters. Afterwards every gradient is used and every parameter with a gradient is assigned.
//
//===----------------------------------------------------------------------===//

#include "GradientTransforms.h"
#include "Schedule.h"

#define DEBUG_TYPE "dist-train-optimizer"

namespace meshwright::train {
#define GEN_PASS_DEF_OPTIMIZERPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// The type of scalars: f64 if a parameter is f64, otherwise f32.
static FloatType scalarTypeOf(MLIRContext *context, ArrayRef<Update> updates) {
  bool wide = llvm::any_of(updates, [](const Update &u) { return net::elementTypeOf(u.value).isF64(); });
  return wide ? FloatType(Float64Type::get(context)) : FloatType(Float32Type::get(context));
}

namespace {

/// Parameters with the same update rule.
struct Group {
  Group() = default;
  Group(Group &&) = default;

  OptimizerPassOptions options;
  /// Indices of updates.
  SmallVector<unsigned> members;
  GradientTransforms transforms;
};

struct OptimizerPass : train::impl::OptimizerPassBase<OptimizerPass> {
  using OptimizerPassBase::OptimizerPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    FailureOr<SmallVector<Update>> collected = collectUpdates(*func);
    if (failed(collected))
      return signalPassFailure();
    SmallVector<Update> &updates = *collected;
    FailureOr<std::vector<Group>> groups = makeGroups(updates);
    if (failed(groups))
      return signalPassFailure();
    if (updates.empty()) {
      func->emitWarning() << "there are no gradients, so no parameter is updated";
      return;
    }
    RoleBuilder builder(*func, net::Role::Optimize);
    UpdateBuilder step(builder, getOperation(), *func, scalarTypeOf(&getContext(), updates));
    build(step, updates, *groups);
    numUpdates += updates.size();
    if (step.hasFailed())
      signalPassFailure();
  }

  void build(UpdateBuilder &step, MutableArrayRef<Update> updates, MutableArrayRef<Group> groups) {
    GradientTransforms clipping = makeClipping(getOptions());
    for (auto &transform : clipping)
      transform->prepare(step, updates);
    SmallVector<Group *> groupOf(updates.size());
    for (Group &group : groups) {
      SmallVector<Update> members;
      for (unsigned member : group.members) {
        members.push_back(updates[member]);
        groupOf[member] = &group;
      }
      // The last group names the learning rate, even if it has no parameters.
      group.transforms = makeTransforms(group.options, &group == &groups.back());
      for (auto &transform : group.transforms)
        // An empty group only prepares its last transform, for most rules the learning rate, which may bear the name.
        if (!members.empty() || &transform == &group.transforms.back())
          transform->prepare(step, members);
    }
    for (auto [u, group] : llvm::zip(updates, groupOf)) {
      for (auto &transform : clipping)
        transform->apply(step, u);
      for (auto &transform : group->transforms)
        transform->apply(step, u);
      Value next = step.at(u.parameter).subtract(u.value, u.update);
      net::AssignOp::create(step.builder, u.parameter.getLoc(), u.parameter.getSymName(), next);
      if (ema > 0)
        average(step, u, next);
    }
  }

  /// The moving average of the parameter's values; it starts at the first value.
  void average(UpdateBuilder &step, const Update &u, Value next) {
    Value isFirst =
        step.atStep().compare(net::CompareDirection::Eq, step.getCount(), step.atStep().splatLike(step.getCount(), 0));
    net::NetBuilder build = step.at(u.parameter);
    Value old =
        build.select(build.broadcast(isFirst, net::shapeOf(next)), u.value, step.readBuffer("ema", u.parameter));
    step.assignState("ema", u.parameter, blend(build, next, old, ema));
  }

  /// The parameters with a gradient, in the order of the variables.
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

  /// The options of every group: those of the pass, overridden by the group's text.
  FailureOr<std::vector<OptimizerPassOptions>> parseGroups() {
    std::vector<OptimizerPassOptions> result;
    for (const std::string &text : group) {
      // A pass object parses the text, so that a group takes exactly the options of the pass.
      OptimizerPass settings;
      settings.copyOptionValuesFrom(this);
      settings.match.clear();
      auto emitError = [&](const Twine &message) { return getOperation().emitError(message); };
      if (failed(settings.initializeOptions(text, emitError)))
        return failure();
      result.push_back(settings.getOptions());
    }
    if (group.empty())
      result.push_back(getOptions());
    return result;
  }

  /// Every glob has to match a parameter, possibly one without a gradient.
  LogicalResult verifyGlobs(const OptimizerPassOptions &options) {
    SmallVector<bool> matched, decaying;
    for (auto variable : getOperation().getOps<net::VariableOp>()) {
      if (variable.getKind() != net::VariableKind::Parameter)
        continue;
      matchesAny(options.match, variable.getSymName(), matched);
      matchesAny(options.decay, variable.getSymName(), decaying);
    }
    return success(succeeded(verifyAllUsed(getOperation(), options.match, matched, "match", "parameters")) &&
                   succeeded(verifyAllUsed(getOperation(), options.decay, decaying, "decay", "parameters")));
  }

  /// Divides the updates into groups; the first matching group applies.
  FailureOr<std::vector<Group>> makeGroups(MutableArrayRef<Update> updates) {
    auto parsed = parseGroups();
    if (failed(parsed))
      return failure();
    SmallVector<bool> taken(updates.size()), used;
    auto matches = [&](ArrayRef<std::string> globs, StringRef name) {
      return globs.empty() || matchesAny(globs, name, used);
    };
    std::vector<Group> groups;
    for (OptimizerPassOptions &options : *parsed) {
      if (failed(verifySchedule(getOperation(), options)) || failed(verifyGlobs(options)))
        return failure();
      // Muon only updates matrices: a Muon group becomes two, and the second one updates all other parameters by AdamW.
      Group matrices, others;
      for (auto [index, u] : llvm::enumerate(updates)) {
        StringRef name = u.parameter.getSymName();
        if (taken[index] || !matches(options.match, name))
          continue;
        taken[index] = true;
        u.decays = matches(options.decay, name);
        bool isMatrix = options.kind == OptimizerKind::Muon && net::typeOf(u.value).getRank() == 2;
        (isMatrix ? matrices : others).members.push_back(index);
      }
      others.options = options;
      if (options.kind == OptimizerKind::Muon) {
        matrices.options = options;
        groups.push_back(std::move(matrices));
        others.options = getOptionsBesideMuon(options);
      }
      groups.push_back(std::move(others));
    }
    for (auto [u, isTaken] : llvm::zip(updates, taken))
      if (!isTaken)
        return u.parameter.emitError() << "has a gradient, but no group of the optimizer matches it";
    return groups;
  }

  /// The options of AdamW for parameters that are not matrices.
  static OptimizerPassOptions getOptionsBesideMuon(OptimizerPassOptions options) {
    options.kind = OptimizerKind::AdamW;
    options.beta1 = options.adamBeta1;
    options.beta2 = options.adamBeta2;
    options.weightDecay = options.adamWeightDecay;
    return options;
  }

  OptimizerPassOptions getOptions() const {
    OptimizerPassOptions options;
    options.match.assign(match.begin(), match.end());
    options.decay.assign(decay.begin(), decay.end());
    options.kind = kind;
    options.schedule = schedule;
    options.lr = lr;
    options.lrScale = lrScale;
    options.lrStart = lrStart;
    options.lrEnd = lrEnd;
    options.warmup = warmup;
    options.total = total;
    options.momentum = momentum;
    options.nesterov = nesterov;
    options.beta = beta;
    options.beta1 = beta1;
    options.beta2 = beta2;
    options.rho = rho;
    options.eps = eps;
    options.weightDecay = weightDecay;
    options.l2 = l2;
    options.initial = initial;
    options.decayRate = decayRate;
    options.minDim = minDim;
    options.clipRms = clipRms;
    options.scaleByParameter = scaleByParameter;
    options.nsSteps = nsSteps;
    options.consistentRms = consistentRms;
    options.adamBeta1 = adamBeta1;
    options.adamBeta2 = adamBeta2;
    options.adamWeightDecay = adamWeightDecay;
    options.clipValue = clipValue;
    options.clipTensorNorm = clipTensorNorm;
    options.clipGlobalNorm = clipGlobalNorm;
    return options;
  }
};

} // namespace
