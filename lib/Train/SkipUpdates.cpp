//===- SkipUpdates.cpp - skipped updates after overflow -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a gradient is not finite, all assigned variables keep their values. A dynamic loss scale is reduced after skipped
// steps and raised after a number of consecutive good steps.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"

namespace meshwright::train {
#define GEN_PASS_DEF_SKIPUPDATESPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

struct SkipUpdatesPass : train::impl::SkipUpdatesPassBase<SkipUpdatesPass> {
  using SkipUpdatesPassBase::SkipUpdatesPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    Operation *found = findNamed(*func, kFoundInf);
    if (!found)
      return;
    RoleBuilder builder(*func, net::Role::Optimize);
    net::NetBuilder build(builder, func->getLoc());
    Value indicator = found->getResult(0);
    Value skips = build.compare(net::CompareDirection::Gt, indicator, build.splatLike(indicator, 0));
    if (failed(guard(*func, builder, skips)))
      return signalPassFailure();
    countSkipped(*func, build, skips);
    if (dynamic)
      updateScale(*func, build, skips);
  }

  /// Makes every assignment of the update select the old value in a skipped step.
  LogicalResult guard(func::FuncOp func, RoleBuilder &builder, Value skips) {
    auto reads = collectReads(func);
    SmallVector<net::AssignOp> assigns(func.getOps<net::AssignOp>());
    dist::MeshOp mesh = dist::findMesh(getOperation());
    bool accumulates = mesh && mesh.getMesh().find(dist::AxisKind::Steps);
    for (net::AssignOp assign : assigns) {
      // Overflow is only known in the last accumulated step; assignments of every step happen regardless.
      if (accumulates && (dist::kDuringAttr.isOn(assign) || net::getRole(assign) != net::Role::Optimize))
        continue;
      net::ReadOp &read = reads[assign.getVariableAttr().getAttr()];
      if (!read) {
        OpBuilder front(&func.getBody().front(), func.getBody().front().begin());
        read = net::ReadOp::create(front, assign.getLoc(), assign.getValue().getType(), assign.getVariable());
      }
      net::NetBuilder build(builder, assign.getLoc());
      Value keeps = build.broadcast(skips, net::shapeOf(assign.getValue()));
      Value next = build.select(keeps, read.getResult(), assign.getValue());
      assign->moveAfter(next.getDefiningOp());
      assign.getValueMutable().assign(next);
      ++numGuarded;
    }
    return success();
  }

  /// Creates a scalar variable and returns its value in this step.
  Value makeState(func::FuncOp func, StringRef name, net::VariableKind kind, Type type, double initial) {
    net::VariableOp last;
    for (auto variable : getOperation().getOps<net::VariableOp>())
      last = variable;
    OpBuilder module(&getContext());
    module.setInsertionPointAfter(last);
    auto tensor = RankedTensorType::get({}, type);
    auto init = net::InitializerAttr::get(&getContext(), net::InitializerKind::Constant, initial);
    net::VariableOp::create(module, func.getLoc(), kind, name, tensor, init, FlatSymbolRefAttr());
    OpBuilder front(&func.getBody().front(), func.getBody().front().begin());
    return net::ReadOp::create(front, func.getLoc(), tensor, name);
  }

  static void assign(net::NetBuilder &build, StringRef name, Value value) {
    net::AssignOp::create(build.builder, build.location, name, value);
  }

  void countSkipped(func::FuncOp func, net::NetBuilder &build, Value skips) {
    Type i32 = IntegerType::get(&getContext(), 32);
    Value before = makeState(func, kSkippedSteps, net::VariableKind::Counter, i32, 0);
    Value after = build.add(before, build.convert(skips, i32));
    setName(after, kSkippedSteps);
    assign(build, kSkippedSteps, after);
  }

  /// Halves the scale once `hysteresis` steps were skipped, and on every further skipped step. Doubles it after
  /// `window` consecutive steps that were not skipped; both counts then start over.
  void updateScale(func::FuncOp func, net::NetBuilder &build, Value skips) {
    Type i32 = IntegerType::get(&getContext(), 32);
    Value scale = findNamed(func, kLossScale)->getResult(0);
    Value good = makeState(func, "loss_scale.good_steps", net::VariableKind::Counter, i32, 0);
    Value left = makeState(func, "loss_scale.hysteresis", net::VariableKind::Counter, i32,
                           static_cast<double>(hysteresis.getValue()));
    Value zero = build.splatLike(good, 0), one = build.splatLike(good, 1);
    Value full = build.splatLike(good, static_cast<double>(hysteresis.getValue()));
    Value goodNext = build.select(skips, zero, build.add(good, one));
    Value grows = build.compare(net::CompareDirection::Ge, goodNext,
                                build.splatLike(good, static_cast<double>(window.getValue())));
    Value leftNext = build.binary<net::MaximumOp>(build.select(skips, build.subtract(left, one), left), zero);
    Value isUsedUp = build.compare(net::CompareDirection::Eq, leftNext, zero);
    Value shrinks = build.binary<net::AndOp>(skips, isUsedUp);
    Value smaller = build.binary<net::MaximumOp>(build.scale(scale, 0.5), build.splatLike(scale, minimum));
    Value next = build.select(shrinks, smaller, build.select(grows, build.scale(scale, 2), scale));
    assign(build, kLossScale, next);
    assign(build, "loss_scale.good_steps", build.select(grows, zero, goodNext));
    assign(build, "loss_scale.hysteresis", build.select(grows, full, leftNext));
  }
};

} // namespace
