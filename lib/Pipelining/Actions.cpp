//===- Actions.cpp - assigns operations to the actions of a pipeline ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits operations in order. The stage of an operation and its direction give its task, the phase of its operands
// (before, in, or after the micro-batches) decides between tasks, the update and the beginning. Short operations made
// of inputs and constants get no action: every reader recomputes them.
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/Uses.h"
#include "meshwright/Support/Stages.h"
#include <algorithm>
#include <map>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

/// An operation that takes more operations than this to recompute is kept for backward: a mask of random bits.
static constexpr int64_t kLongest = 32;

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// A task that comes after one of its kind and stage with a later micro-batch, if there is one.
static std::optional<Task> findDescending(const TaskOrder &order) {
  std::map<std::pair<TaskKind, int64_t>, int64_t> last;
  for (const std::vector<Task> &tasks : order.ranks)
    for (Task task : tasks) {
      auto [known, isNew] = last.try_emplace({task.kind, task.stage}, task.microBatch);
      if (!isNew && known->second >= task.microBatch)
        return task;
      known->second = task.microBatch;
    }
  return std::nullopt;
}

FailureOr<std::optional<PipelineAxis>> PipelineAxis::find(ModuleOp module) {
  dist::MeshOp meshOp = dist::findMesh(module);
  if (!meshOp)
    return std::optional<PipelineAxis>();
  FailureOr<std::optional<StageMap>> stages = StageMap::read(meshOp);
  if (failed(stages))
    return failure();
  if (!*stages)
    return std::optional<PipelineAxis>();
  dist::Mesh mesh = meshOp.getMesh();
  std::optional<dist::Axis> slices = mesh.find(dist::AxisKind::Slices);
  int64_t microBatches = slices ? mesh.getSize(*slices) : 1;
  const TaskOrder &order = (*stages)->getOrder();
  if (order.numMicroBatches != microBatches)
    return meshOp.emitOpError() << "has an order of tasks for " << order.numMicroBatches
                                << " micro-batches, but the batch has " << microBatches << " slices";
  PipelineAxis pipeline{StringAttr::get(module.getContext(), mesh.getName((*stages)->getAxis())),
                        splitBackwards(order)};
  if (std::optional<Task> task = findDescending(pipeline.order))
    return meshOp.emitOpError() << "has an order of tasks in which " << toString(*task)
                                << " comes after a later micro-batch; sums over micro-batches need them in order";
  return std::optional(std::move(pipeline));
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Finds the variables that keep a value from one micro-batch to the next.
void Actions::findKeepers(Block &block) {
  SymbolTable symbols(block.getParentOp()->getParentOfType<ModuleOp>());
  for (auto assign : block.getOps<net::AssignOp>())
    if (dist::kWithinStepAttr.isOn(symbols.lookup(assign.getVariable())))
      keepers[assign.getValue()] = assign;
}

Actions::Phase Actions::getPhase(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return phases.lookup(op);
  // The input is the whole batch, from which a micro-batch is taken by its number.
  return pipeline.order.numMicroBatches > 1 ? Phase::Early : Phase::Each;
}

/// The phase in which the last operand of `op` becomes known. A sum over micro-batches is known after the last one,
/// except to the assignment that keeps it until then, and to the next level of a tree.
Actions::Phase Actions::getOperandPhase(Operation *op) const {
  Phase phase = Phase::Early;
  for (Value operand : op->getOperands()) {
    net::AssignOp keeper = getKeeper(operand);
    auto level = dyn_cast<dist::AccumulateOp>(op);
    bool isSummed = keeper && keeper != op && !(level && level.getSums());
    phase = std::max(phase, isSummed ? Phase::Late : getPhase(operand));
  }
  return phase;
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

Actions::Actions(const dist::Mesh &mesh, const PipelineAxis &pipeline) : mesh(mesh), pipeline(pipeline) {
  actions.push_back({Action::Kind::Begin, "begin"});
  actions.push_back({Action::Kind::Update, "update"});
  // In the order in which a stage first does them.
  for (const std::vector<Task> &ofRank : pipeline.order.ranks)
    for (Task task : ofRank) {
      auto [known, isNew] = tasks.try_emplace({static_cast<int>(task.kind), task.stage}, actions.size());
      if (isNew) {
        std::string name = toString(task);
        actions.push_back({Action::Kind::Task,
                           name.substr(0, name.size() - std::to_string(task.microBatch).size()),
                           {task.kind, task.stage}});
      }
    }
}

std::optional<ActionIndex> Actions::find(Operation *op) const {
  auto known = actionOf.find(op);
  return known == actionOf.end() ? std::nullopt : std::optional(known->second);
}

std::optional<ActionIndex> Actions::find(StageTask task) const {
  auto known = tasks.find({static_cast<int>(task.kind), task.stage});
  return known == tasks.end() ? std::nullopt : std::optional(known->second);
}

bool Actions::isOnceAtBegin(ActionIndex action) const {
  return action == kBegin ||
         (actions[action].kind == Action::Kind::Transfer && phases.lookup(actions[action].ops.front()) == Phase::Early);
}

bool Actions::isLayout(Operation *op) { return net::movesWhole(op); }

bool Actions::isTransfer(Operation *op) const {
  auto send = dyn_cast<dist::CollectiveOp>(op);
  return send && send.getKind() == dist::CollectiveKind::Send && send.getAxes().size() == 1 &&
         send.getAxes()[0] == pipeline.axis;
}

/// The action that makes a kept value assigns it.
LogicalResult Actions::assignKeeper(net::AssignOp op) {
  Operation *maker = op.getValue().getDefiningOp();
  std::optional<ActionIndex> action = maker ? find(maker) : std::nullopt;
  if (!action)
    return op.emitOpError() << "sums over micro-batches a value that no stage of the pipeline computes";
  actionOf[op] = *action;
  return success();
}

/// True if a staged operation belongs to backward: recomputed operations do, and operations without a role do if their
/// operands do.
bool Actions::isBackward(Operation *op) const {
  if (std::optional<net::Role> role = net::getRole(op))
    return role == net::Role::Backward || net::kRecomputesAttr.isOn(op);
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    std::optional<ActionIndex> action = maker ? find(maker) : std::nullopt;
    return action && actions[*action].kind == Action::Kind::Task && actions[*action].task.kind != TaskKind::Forward;
  });
}

/// An operation of forward or backward. Whether a backward in halves has it in the first of them is decided later.
LogicalResult Actions::assignStaged(Operation *op, int64_t stage) {
  bool isBackward = this->isBackward(op);
  for (TaskKind kind : {TaskKind::Forward, TaskKind::Backward, TaskKind::WeightGradient}) {
    std::optional<ActionIndex> action = find(StageTask{kind, stage});
    if (isBackward == (kind == TaskKind::Forward) || !action)
      continue;
    actionOf[op] = *action;
    return success();
  }
  return op->emitOpError() << "is of stage " << stage << " of a pipeline that has " << pipeline.order.getNumStages();
}

void Actions::assignTransfer(Operation *op) {
  // A value kept on the host is brought to the device first, and stays there until it has been sent.
  if (auto read = op->getOperand(0).getDefiningOp<net::ReadOp>())
    if (dist::isOnHost(SymbolTable::lookupNearestSymbolFrom(read, read.getVariableAttr())))
      actionOf[read] = kBegin;
  actionOf[op] = actions.size();
  actions.push_back({Action::Kind::Transfer, "send" + std::to_string(actions.size())});
  if (getOperandPhase(op) == Phase::Early)
    moveToBegin(op);
}

/// Lets what `op`, which is done once at the beginning, reads be made there too.
void Actions::moveToBegin(Operation *op) {
  SmallVector<Operation *> next{op};
  while (!next.empty())
    for (Value operand : next.pop_back_val()->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      std::optional<ActionIndex> action = maker ? find(maker) : std::nullopt;
      if (!action || actions[*action].kind != Action::Kind::Task)
        continue;
      actionOf[maker] = kBegin;
      next.push_back(maker);
    }
}

LogicalResult Actions::visit(Operation *op) {
  auto coordinate = dyn_cast<dist::CoordinateOp>(op);
  if (isAlwaysAvailable(op)) {
    bool isSlice = coordinate && mesh.getKind(*mesh.find(coordinate.getAxis())) == dist::AxisKind::Slices;
    phases[op] = isSlice ? Phase::Each : Phase::Early;
    return success();
  }
  Phase phase = phases[op] = getOperandPhase(op);
  auto assign = dyn_cast<net::AssignOp>(op);
  if (assign && getKeeper(assign.getValue()) == assign)
    return assignKeeper(assign);
  if (phase == Phase::Late || net::getRole(op) == net::Role::Optimize || net::isOutput(op)) {
    actionOf[op] = kUpdate;
    return success();
  }
  if (isTransfer(op)) {
    assignTransfer(op);
    return success();
  }
  if (dist::kOnceAttr.isOn(op) && phase == Phase::Early) {
    actionOf[op] = kBegin;
    moveToBegin(op);
    return success();
  }
  if (auto stage = dist::kStageAttr.get(op))
    return assignStaged(op, stage.getInt());
  // Results of the whole batch that ranks exchange, or that are sums over it, are not recomputed for each of its
  // slices; other operations are cheaper to repeat than to keep.
  if (isa<dist::CollectiveOp, net::ReduceOp>(op) && phase == Phase::Early) {
    actionOf[op] = kBegin;
    moveToBegin(op);
    return success();
  }
  int64_t &length = lengths[op] = 1;
  for (Value operand : op->getOperands())
    length = std::min(length + lengths.lookup(operand.getDefiningOp()), kLongest + 1);
  return success();
}

/// Gives what takes long and is read by one stage alone to its forward, which keeps it for backward.
void Actions::stageLong(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (lengths.lookup(&op) <= kLongest)
      continue;
    std::optional<int64_t> stage;
    bool isOne = true;
    for (Operation *user : op.getUsers()) {
      std::optional<ActionIndex> action = find(user);
      isOne &= action && actions[*action].kind == Action::Kind::Task &&
               stage.value_or(actions[*action].task.stage) == actions[*action].task.stage;
      if (isOne)
        stage = actions[*action].task.stage;
    }
    if (isOne && stage)
      actionOf[&op] = *find(StageTask{TaskKind::Forward, *stage});
  }
}

/// True if another stage than `stage` waits for the result of `op`.
bool Actions::isForOthers(Operation *op, int64_t stage) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    std::optional<ActionIndex> action = find(user);
    if (!action)
      return false;
    const Action &reader = actions[*action];
    return reader.kind == Action::Kind::Transfer ||
           (reader.kind == Action::Kind::Task &&
            (reader.task.stage != stage || reader.task.kind == TaskKind::InputGradient));
  });
}

/// With split backwards, moves the operations that the previous stage waits for into the first half.
void Actions::splitBackward(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    std::optional<ActionIndex> action = find(&op);
    if (!action || actions[*action].kind != Action::Kind::Task ||
        actions[*action].task.kind != TaskKind::WeightGradient)
      continue;
    int64_t stage = actions[*action].task.stage;
    if (isForOthers(&op, stage))
      actionOf[&op] = *find(StageTask{TaskKind::InputGradient, stage});
  }
}

FailureOr<Actions> Actions::find(func::FuncOp func, const dist::Mesh &mesh, const PipelineAxis &pipeline) {
  Actions actions(mesh, pipeline);
  Block &block = func.getBody().front();
  actions.findKeepers(block);
  for (Operation &op : block)
    if (failed(actions.visit(&op)))
      return failure();
  actions.stageLong(block);
  actions.splitBackward(block);
  for (Operation &op : block)
    if (std::optional<ActionIndex> action = actions.find(&op))
      actions.actions[*action].ops.push_back(&op);
  return actions;
}
