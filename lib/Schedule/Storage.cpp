//===- Storage.cpp - which values share memory, and how long --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

/// Whether `op` starts something that is waited for elsewhere.
static bool isStart(Operation *op) {
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  auto copy = dyn_cast<dist::CopyOp>(op);
  return (collective && collective.isStart()) || (copy && copy.isStart());
}

Operation *schedule::findWait(Operation *op) {
  if (!isStart(op))
    return op;
  Operation *last = op, *taker = nullptr;
  for (Value flight : op->getResults()) {
    if (flight.use_empty())
      return nullptr;
    if (*flight.user_begin() == taker)
      continue;
    taker = *flight.user_begin();
    Operation *wait = findWait(taker);
    if (!wait)
      return nullptr;
    if (last->isBeforeInBlock(wait))
      last = wait;
  }
  return last;
}

Storage::Storage(func::FuncOp func) {
  Block &block = func.getBody().front();
  if (auto module = func->getParentOfType<ModuleOp>())
    for (auto variable : module.getOps<net::VariableOp>())
      if (dist::isOnHost(variable))
        hostVariables.insert(variable.getSymNameAttr());
  for (Operation &op : block)
    steps[&op] = end++;
  --end;
  for (Operation &op : block) {
    for (Value result : op.getResults())
      if (getRoot(result) == result)
        lastUses.try_emplace(result, steps[&op]);
    if (isa<dist::ViewOp, dist::WaitOp>(op))
      continue;
    int64_t step = isa<net::AssignOp, func::ReturnOp>(op) ? end : steps[&op];
    // What a start reads and writes is in use until somebody waits for it.
    if (isStart(&op)) {
      Operation *wait = findWait(&op);
      step = wait ? steps[wait] : end;
      for (Value result : op.getResults())
        lastUses[result] = step;
    }
    for (Value operand : op.getOperands()) {
      int64_t &last = lastUses[getRoot(operand)];
      last = std::max(last, step);
    }
  }
}

/// The value in whose memory `value` is, if it is only another name for it or a part of it.
static Value getBase(Value value) {
  if (auto view = value.getDefiningOp<dist::ViewOp>())
    return view.getInput();
  if (auto wait = value.getDefiningOp<dist::WaitOp>())
    return wait.getFlights()[cast<OpResult>(value).getResultNumber()];
  return {};
}

Value Storage::getRoot(Value value) const {
  while (Value base = getBase(value))
    value = base;
  return value;
}

bool Storage::canReduceInPlace(dist::CollectiveOp op, unsigned part) const {
  Value input = op.getPartInput(part), result = op.getPartResult(part);
  if (op.getKind() != dist::CollectiveKind::AllReduce || getOffset(input) != 0)
    return false;
  Value root = getRoot(input);
  Operation *maker = root.getDefiningOp();
  if (!maker || isa<net::ReadOp>(maker) || isPersistent(maker) ||
      getBytes(root.getType()) != getBytes(result.getType()))
    return false;
  int64_t reads = 0;
  SmallVector<Value> names = {root};
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers()) {
      if (isa<dist::ViewOp, dist::WaitOp>(user)) {
        llvm::append_range(names, user->getResults());
        continue;
      }
      // What else is in flight may read it later than it was started.
      reads += user == op;
      if (user != op &&
          (isa<dist::CollectiveOp, dist::CopyOp, net::AssignOp, func::ReturnOp>(user) || getStep(user) > getStep(op)))
        return false;
    }
  return reads == 1;
}

bool Storage::isOnHost(Value root) const {
  if (auto copy = root.getDefiningOp<dist::CopyOp>())
    return copy.getMemory() == dist::MemoryKind::Host;
  auto read = root.getDefiningOp<net::ReadOp>();
  return read && hostVariables.contains(read.getVariableAttr().getAttr());
}

int64_t Storage::getBytes(Type type) { return meshwright::getBytes(dist::getTensorType(type)); }

int64_t Storage::getOffset(Value value) const {
  int64_t bytes = getElementBytes(dist::getTensorType(value.getType()).getElementType()), offset = 0;
  for (Value base = getBase(value); base; value = base, base = getBase(value))
    if (auto view = value.getDefiningOp<dist::ViewOp>())
      offset += view.getOffset() * bytes;
  return offset;
}

bool Storage::isPersistent(Operation *op) {
  return isa<dist::CoordinateOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
}
