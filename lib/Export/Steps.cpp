//===- Steps.cpp - the actions of accumulation steps ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module runs where and when it is dispatched, so a step that does something else has modules of its own. Steps
// differ by the lists of steps in the times at which operations are needed, and in those at which sums are added to:
//
//   step 0        the first gradient begins a sum
//   1 … k - 2     a gradient is added to it
//   k - 1         the same, then the reductions and the update
//
//===----------------------------------------------------------------------===//

#include "Steps.h"
#include "Actions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Classes.h"
#include "meshwright/Support/NeededTimes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using namespace meshwright::dist;

namespace {

class StepDivider {
public:
  StepDivider(func::FuncOp source, StringRef axis, int64_t size, NeededTimes times)
      : source(source), block(source.getBody().front()), axis(axis), size(size), times(std::move(times)),
        symbols(source->getParentOfType<ModuleOp>()), builder(source.getContext()) {}

  SmallVector<StepAction> run();

private:
  bool includes(DictionaryAttr when, int64_t step) const { return covers(when, axis, step); }
  llvm::SetVector<Attribute> findLists();
  func::FuncOp makeAction(int64_t step, const Twine &suffix);
  void copySum(AccumulateOp op, int64_t step, IRMapping &mapping);
  void copyReturn(func::ReturnOp op, int64_t step, IRMapping &mapping);

  func::FuncOp source;
  Block &block;
  StringRef axis;
  int64_t size;
  NeededTimes times;
  SymbolTable symbols;
  OpBuilder builder;
};

} // namespace

/// The lists of steps by which operations and results differ.
llvm::SetVector<Attribute> StepDivider::findLists() {
  llvm::SetVector<Attribute> lists;
  auto add = [&](DictionaryAttr when) {
    if (Attribute list = when ? when.get(axis) : Attribute())
      lists.insert(list);
  };
  for (Operation &op : block) {
    DictionaryAttr needed = times.get(&op);
    add(needed);
    if (auto accumulate = dyn_cast<AccumulateOp>(op); needed && accumulate && accumulate.getAxis() == axis)
      add(times.atSums(needed, accumulate));
  }
  for (unsigned index = 0; index < source.getNumResults(); ++index)
    add(kDuringAttr.getOfResult(source, index));
  return lists;
}

/// The first step of a sum has its addend alone.
void StepDivider::copySum(AccumulateOp op, int64_t step, IRMapping &mapping) {
  DictionaryAttr adding = times.atSums(times.get(op), op);
  Value addend = mapping.lookup(op.getAddend());
  if (!adding || !includes(adding, step))
    return mapping.map(op.getResult(), addend);
  auto sum = net::AddOp::create(builder, op.getLoc(), op.getType(), mapping.lookup(op.getBefore()), addend);
  inherit(sum, op, Inherit::Replacement);
  setOn(sum, getOn(op.getOperation()));
  mapping.map(op.getResult(), sum.getResult());
}

void StepDivider::copyReturn(func::ReturnOp op, int64_t step, IRMapping &mapping) {
  SmallVector<Value> values;
  for (auto [index, value] : llvm::enumerate(op.getOperands()))
    values.push_back(includes(kDuringAttr.getOfResult(source, index), step)
                         ? mapping.lookup(value)
                         : net::NetBuilder(builder, op.getLoc()).splatLike(value, 0));
  func::ReturnOp::create(builder, op.getLoc(), values);
}

/// The action of the steps that do what `step` does, with `suffix` after its name.
func::FuncOp StepDivider::makeAction(int64_t step, const Twine &suffix) {
  IRMapping mapping;
  func::FuncOp func = createPart(source, suffix, symbols, mapping);
  builder.setInsertionPointToEnd(&func.getBody().front());
  for (Operation &op : block) {
    DictionaryAttr needed = times.get(&op);
    auto accumulate = dyn_cast<AccumulateOp>(op);
    if (!needed || !includes(needed, step))
      continue;
    if (accumulate && accumulate.getAxis() == axis)
      copySum(accumulate, step, mapping);
    else if (auto ret = dyn_cast<func::ReturnOp>(op))
      copyReturn(ret, step, mapping);
    else
      builder.clone(op, mapping);
  }
  return func;
}

SmallVector<StepAction> StepDivider::run() {
  SmallVector<CoordinateClass> classes = divideByLists(size, findLists().getArrayRef());
  if (classes.size() == 1)
    return {StepAction{source}};
  SmallVector<StepAction> actions;
  for (const auto &[isNamed, steps] : classes) {
    bool isLast = steps.back() == size - 1;
    actions.push_back({makeAction(steps.front(), isLast ? Twine() : ".step" + Twine(steps.front())), steps});
  }
  source.erase();
  return actions;
}

FailureOr<SmallVector<StepAction>> exporter::divideBySteps(func::FuncOp func, const Mesh &mesh) {
  std::optional<Axis> steps = mesh.find(AxisKind::Steps);
  if (!steps || mesh.getSize(*steps) == 1)
    return SmallVector<StepAction>{StepAction{func}};
  FailureOr<NeededTimes> times = NeededTimes::find(func, mesh);
  if (failed(times))
    return failure();
  return StepDivider(func, mesh.getName(*steps), mesh.getSize(*steps), std::move(*times)).run();
}
