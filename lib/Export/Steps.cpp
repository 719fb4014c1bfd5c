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
#include "dialects/Dist/Support.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/NeededTimes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <vector>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;
using namespace meshwright::dist;

namespace {

class StepDivider {
public:
  StepDivider(func::FuncOp source, StringRef axis, int64_t size, NeededTimes times)
      : source(source), block(source.getBody().front()), axis(axis), size(size), times(std::move(times)),
        builder(source.getContext()) {}

  SmallVector<StepAction> run();

private:
  /// True if `when` has `step`; without a list of steps it has all.
  bool includes(DictionaryAttr when, int64_t step) const {
    auto list = when ? when.getAs<DenseI64ArrayAttr>(axis) : DenseI64ArrayAttr();
    return !list || llvm::is_contained(list.asArrayRef(), step);
  }
  llvm::SetVector<Attribute> findLists();
  SmallVector<StepAction> findSteps();
  func::FuncOp makeAction(int64_t step, const Twine &suffix);
  void copySum(AccumulateOp op, int64_t step, IRMapping &mapping);
  void copyReturn(func::ReturnOp op, int64_t step, IRMapping &mapping);

  func::FuncOp source;
  Block &block;
  StringRef axis;
  int64_t size;
  NeededTimes times;
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

/// The steps that are in the same lists, without functions.
SmallVector<StepAction> StepDivider::findSteps() {
  std::vector<std::vector<unsigned>> listsOfStep(size);
  for (auto [number, list] : llvm::enumerate(findLists()))
    for (int64_t step : cast<DenseI64ArrayAttr>(list).asArrayRef())
      listsOfStep[step].push_back(number);
  std::map<std::vector<unsigned>, size_t> known;
  SmallVector<StepAction> actions;
  for (int64_t step = 0; step < size; ++step) {
    auto [place, isNew] = known.try_emplace(listsOfStep[step], actions.size());
    if (isNew)
      actions.push_back({});
    actions[place->second].steps.push_back(step);
  }
  return actions;
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
  auto func = cast<func::FuncOp>(source->cloneWithoutRegions());
  func.setSymName((source.getSymName() + suffix).str());
  kActionAttr.set(func, builder.getStringAttr(kActionAttr.get(source).getValue() + suffix));
  SymbolTable(source->getParentOfType<ModuleOp>()).insert(func, source->getIterator());
  Block *entry = func.addEntryBlock();
  IRMapping mapping;
  for (auto [before, after] : llvm::zip_equal(source.getArguments(), entry->getArguments())) {
    after.setLoc(before.getLoc());
    mapping.map(before, after);
  }
  builder.setInsertionPointToEnd(entry);
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
  SmallVector<StepAction> actions = findSteps();
  if (actions.size() == 1)
    return {StepAction{source}};
  for (StepAction &action : actions) {
    int64_t first = action.steps.front();
    bool isLast = action.steps.back() == size - 1;
    action.func = makeAction(first, isLast ? Twine() : ".step" + Twine(first));
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
