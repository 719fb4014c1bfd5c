//===- Optimizer.cpp - the updates of the parameters ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards every gradient is used and every parameter that has one is assigned.
//
//===----------------------------------------------------------------------===//

#include "lib/Train/GradientTransforms.h"
#include "lib/Train/Schedule.h"

#define DEBUG_TYPE "dist-train-optimizer"

namespace meshwright::train {
#define GEN_PASS_DEF_OPTIMIZERPASS
#include "include/meshwright/Train/Passes.h.inc"
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

struct OptimizerPass : train::impl::OptimizerPassBase<OptimizerPass> {
  using OptimizerPassBase::OptimizerPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    OptimizerPassOptions options = getOptions();
    FailureOr<SmallVector<Update>> updates = collectUpdates(*func);
    if (failed(updates) || failed(verifySchedule(getOperation(), options)))
      return signalPassFailure();
    if (updates->empty()) {
      func->emitWarning() << "there are no gradients, so no parameter is updated";
      return;
    }
    RoleBuilder builder(*func, net::Role::Optimize);
    UpdateBuilder step(builder, getOperation(), *func, scalarTypeOf(&getContext(), *updates));
    auto transforms = makeTransforms(options);
    for (auto &transform : transforms)
      transform->prepare(step, *updates);
    for (Update &u : *updates) {
      for (auto &transform : transforms)
        transform->apply(step, u);
      Value next = step.at(u.parameter).subtract(u.value, u.update);
      net::AssignOp::create(builder, u.parameter.getLoc(), u.parameter.getSymName(), next);
    }
    numUpdates += updates->size();
    if (step.hasFailed())
      signalPassFailure();
  }

  /// The parameters that have a gradient, in the order of the variables.
  FailureOr<SmallVector<Update>> collectUpdates(func::FuncOp func) {
    auto gradients = collectGradients(func);
    auto reads = collectReads(func);
    SmallVector<Update> updates;
    SmallVector<bool> used;
    for (auto variable : getOperation().getOps<net::VariableOp>()) {
      if (variable.getKind() != net::VariableKind::Parameter)
        continue;
      bool decays = matchesAny(decay, variable.getSymName(), used) || decay.empty();
      if (Value gradient = gradients.lookup(variable.getSymName()))
        updates.push_back({variable, reads.lookup(variable.getSymNameAttr()).getResult(), gradient, decays});
    }
    if (failed(verifyAllUsed(getOperation(), decay, used, "decay", "parameters")))
      return failure();
    return updates;
  }

  OptimizerPassOptions getOptions() const {
    OptimizerPassOptions options;
    options.kind = kind;
    options.schedule = schedule;
    options.lr = lr;
    options.lrStart = lrStart;
    options.lrEnd = lrEnd;
    options.warmup = warmup;
    options.total = total;
    options.momentum = momentum;
    options.nesterov = nesterov;
    options.beta1 = beta1;
    options.beta2 = beta2;
    options.eps = eps;
    options.weightDecay = weightDecay;
    options.clipGlobalNorm = clipGlobalNorm;
    return options;
  }
};

} // namespace
