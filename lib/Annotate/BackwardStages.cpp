//===- BackwardStages.cpp - backward placed by traffic after forward ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backward is a second flow over reversed stages, in which values of forward are already available in the stages
// that computed or read them. Gradients count with the largest size on their way to the update, so that the flow
// does not move a product to another stage for the sake of a smaller intermediate.
//
//===----------------------------------------------------------------------===//

#include "BackwardStages.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Support/Stages.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;

/// A gradient is accumulated over the micro-batches where it is computed, and sent once, in the type in which the
/// update reads it. So every value on its way counts as many bytes as the last one.
void BackwardStages::findGradients() {
  for (Operation *op : llvm::reverse(program.backward))
    for (Value value : op->getResults()) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
      int64_t bytes = getBytes(value);
      bool isGradient = !value.use_empty();
      for (Operation *user : value.getUsers()) {
        if (!inBackward.contains(user))
          continue;
        auto after = gradients.find(user->getResult(0));
        isGradient &= after != gradients.end() && cast<RankedTensorType>(after->first.getType()).getShape() == shape;
        bytes = isGradient ? std::max(bytes, after->second) : bytes;
      }
      if (isGradient)
        gradients[value] = bytes;
    }
}

int64_t BackwardStages::countBytes(Value value) const {
  auto gradient = gradients.find(value);
  return gradient == gradients.end() ? getBytes(value) : gradient->second;
}

/// True if `op` computes the first value on the way to the update from a cotangent.
bool BackwardStages::makesGradient(Operation *op) const {
  return gradients.contains(op->getResult(0)) && llvm::any_of(op->getOperands(), [&](Value operand) {
           return valueOf.contains(operand) && inBackward.contains(operand.getDefiningOp()) &&
                  !gradients.contains(operand);
         });
}

/// A value of forward in the flow of backward: it is available in all stages from its own to the last one that reads
/// it.
StageFlow::Value &BackwardStages::getForwardValue(Value value) {
  auto [entry, isNew] = valueOf.try_emplace(value, flow.values.size());
  if (isNew) {
    int64_t first = *getStage(value.getDefiningOp()), last = first;
    for (Operation *user : value.getUsers())
      if (forward.contains(user))
        last = std::max(last, *getStage(user));
    flow.values.push_back({getBytes(value), std::nullopt, {turn(last), turn(first)}, {}});
  }
  return flow.values[entry->second];
}

/// An operation of backward prefers the stage of its block; otherwise the stage in which forward reads its operands, or
/// that of the variable whose gradient it computes, or that of its cotangents. Heavy operations and those that compute
/// a gradient must be there, unless a cotangent comes later: a stage should not compute another stage's gradients
/// because they are small.
unsigned BackwardStages::add(Operation *op) {
  unsigned number = flow.ops.size();
  StageRange range = {0, numStages - 1};
  std::optional<int64_t> read;
  for (Value operand : llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end())) {
    if (Operation *maker = operand.getDefiningOp(); maker && forward.contains(maker)) {
      StageFlow::Value &value = getForwardValue(operand);
      value.readers.push_back(number);
      read = std::min(read.value_or(numStages), value.range.first);
    } else if (auto known = valueOf.find(operand); known != valueOf.end()) {
      StageFlow::Value &value = flow.values[known->second];
      value.readers.push_back(number);
      range.first = std::max(range.first, flow.ops[*value.producer].range.first);
    }
  }
  std::optional<int64_t> place = cut.getPlace(op) ? turn(*cut.getPlace(op)) : read;
  if (auto update = updates.find(op); !place && update != updates.end())
    place = update->second;
  if ((dist::isHeavy(op) || makesGradient(op)) && place)
    range.first = range.last = std::max(range.first, *place);
  flow.ops.push_back({range, place.value_or(0)});
  return number;
}

/// Finds the operations of backward from which the gradient of a variable in `stage` is computed; `gradient` is the
/// named one.
void BackwardStages::findUpdate(Operation *gradient, int64_t stage) {
  llvm::SmallSetVector<Operation *, 8> reached;
  reached.insert(gradient);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next];
    if (inBackward.contains(op)) {
      updates[op] = turn(stage);
      continue;
    }
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && !forward.contains(maker))
        reached.insert(maker);
  }
}

void BackwardStages::findUpdates() {
  const auto &stages = forward.getStagesOfVariables();
  func::FuncOp func = program.func;
  for (Operation &op : func.getBody().front()) {
    StringRef name = net::getUserName(&op);
    if (op.getNumResults() == 0 || !name.consume_front(net::kGradientPrefix))
      continue;
    auto stage = stages.find(StringAttr::get(op.getContext(), name));
    if (stage != stages.end())
      findUpdate(&op, stage->second);
  }
}

/// The update of a variable reads its gradient in the variable's stage.
void BackwardStages::addUpdates() {
  for (auto [maker, stage] : updates) {
    StageFlow::Value &value = flow.values[valueOf[maker->getResult(0)]];
    int64_t first = std::max(stage, flow.ops[*value.producer].range.first);
    value.readers.push_back(flow.ops.size());
    flow.ops.push_back({{first, first}, std::nullopt});
  }
}

void BackwardStages::place() {
  findGradients();
  findUpdates();
  for (Operation *op : program.backward) {
    unsigned number = numberOf[op] = add(op);
    for (Value result : op->getResults()) {
      valueOf[result] = flow.values.size();
      flow.values.push_back({countBytes(result), number, {0, 0}, {}});
    }
  }
  addUpdates();
  // No conflict is possible: every range begins at a stage where all operands are available.
  narrowRanges(flow);
  SmallVector<int64_t, 0> stages = assignStages(flow);
  for (Operation *op : program.backward)
    setStage(op, turn(stages[numberOf[op]]));
}
