//===- Storage.cpp - values that share memory, and their lifetimes --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps are positions of operations in the function. A value's root is the value whose memory it is in; the lifetime of
// a root covers the reads of all its views, extends over loops that repeat a reader, and over asynchronous operations
// until their wait.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/Storage.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Uses.h"
#include "meshwright/Kernels/ProductEpilogue.h"
#include "meshwright/Memory/IterationBytes.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

/// True if `op` starts an asynchronous operation that another operation waits for.
static bool isStart(Operation *op) {
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  auto copy = dyn_cast<dist::CopyOp>(op);
  return (collective && collective.isStart()) || (copy && copy.isStart());
}

Operation *schedule::findWait(Operation *op) {
  if (!isStart(op))
    return op;
  Operation *last = op, *taker = nullptr;
  for (Value handle : op->getResults()) {
    if (handle.use_empty())
      return nullptr;
    if (*handle.user_begin() == taker)
      continue;
    taker = *handle.user_begin();
    Operation *wait = findWait(taker);
    if (!wait)
      return nullptr;
    if (last->isBeforeInBlock(wait))
      last = wait;
  }
  return last;
}

Value schedule::getInPlaceInput(OpResult result) {
  auto kernel = dyn_cast<dist::KernelOp>(result.getOwner());
  int64_t input = kernel && kernel.getInPlace() ? (*kernel.getInPlace())[result.getResultNumber()] : -1;
  return input >= 0 ? kernel.getInputs()[input] : Value();
}

/// The value in whose memory `value` is, if it is only another name for it or a part of it.
static Value getBase(Value value) {
  if (auto view = value.getDefiningOp<dist::ViewOp>())
    return view.getInput();
  if (auto wait = value.getDefiningOp<dist::WaitOp>())
    return wait.getHandles()[cast<OpResult>(value).getResultNumber()];
  if (auto next = value.getDefiningOp<net::NextOp>())
    return next.getCarry();
  if (auto take = value.getDefiningOp<net::TakeOp>(); take && isReadInPlace(take))
    return take.getStack();
  return {};
}

Storage::Storage(func::FuncOp func) {
  Block &block = func.getBody().front();
  if (auto module = func->getParentOfType<ModuleOp>())
    for (auto variable : module.getOps<net::VariableOp>())
      if (dist::isOnHost(variable))
        hostVariables.insert(variable.getSymNameAttr());
  if (FailureOr<net::LoopNest> found = net::LoopNest::find(block); succeeded(found))
    nest = std::move(*found);
  for (Operation &op : block)
    steps[&op] = end++;
  --end;
  for (Operation &op : block) {
    for (Value result : op.getResults())
      if (getRoot(result) == result)
        lastUses.try_emplace(result, steps[isa<net::StackOp>(op) ? nest.getEnd(nest.getLoop(&op)) : &op]);
    addReads(&op);
    if (auto take = dyn_cast<net::TakeOp>(op); take && getBase(take.getResult()))
      taken[nest.getLoop(take)].insert(getRoot(take.getStack()));
  }
}

/// The last step in which `op` reads its operands, of one iteration.
int64_t Storage::getReadEnd(Operation *op) const {
  if (net::isOutput(op))
    return end;
  // The operands and results of a start are in use until its wait.
  if (isStart(op)) {
    Operation *wait = findWait(op);
    return wait ? getStep(wait) : end;
  }
  // A GEMM with an epilogue still reads its operands while it writes the results of the following kernel.
  if (auto product = dyn_cast<dist::MatmulOp>(op); product && dist::kEpilogueAttr.isOn(product))
    if (dist::KernelOp kernel = getKernelBehind(product))
      return getStep(kernel);
  // A carried value is written to its place before the loop.
  return getStep(isa<net::CarryOp>(op) ? nest.getLoop(op) : op);
}

/// Notes what `op` reads, and until when.
void Storage::addReads(Operation *op) {
  bool isName = op->getNumResults() > 0 && !isStart(op) && getBase(op->getResult(0)) && !isa<net::NextOp>(op);
  if (isName || isa<net::EndLoopOp>(op))
    return;
  int64_t step = getReadEnd(op);
  if (isStart(op))
    for (Value result : op->getResults())
      lastUses[result] = step;
  for (OpOperand &operand : op->getOpOperands()) {
    Value root = getRoot(operand.get());
    bool isNext = isa<net::NextOp>(op) && operand.getOperandNumber() == 1;
    auto getRead = [&](Value of) {
      return isNext ? getStep(nest.getEnd(nest.getLoop(op))) : getReadStep(op, step, of);
    };
    auto add = [](int64_t &last, int64_t read) { last = std::max(last, read); };
    add(lastUses[root], getRead(root));
    auto carry = root.getDefiningOp<net::CarryOp>();
    if (carry && !isNext && nest.contains(nest.getLoop(carry), op))
      add(iterationReads[carry], getRead(root));
    for (Value value = operand.get(); Value base = getBase(value); value = base)
      if (auto take = value.getDefiningOp<net::TakeOp>())
        add(iterationReads[take], getRead(value));
  }
}

/// An operation repeated in each iteration reads values made before the loop until the loop ends.
int64_t Storage::getReadStep(Operation *reader, int64_t step, Value root) const {
  Operation *maker = root.getDefiningOp();
  net::LoopOp loop = nest.getLoop(reader);
  if (isa<net::CarryOp>(reader))
    loop = nest.getParent(loop);
  for (; loop && !(maker && nest.contains(loop, maker)); loop = nest.getParent(loop))
    step = steps.lookup(nest.getEnd(loop));
  return step;
}

/// Whether the result of `op` has memory from the beginning of its loop to the end: all iterations write into it.
static bool isInLoopMemory(Operation *op) { return isa<net::CarryOp, net::StackOp>(op); }

int64_t Storage::getFirst(Value root) const {
  Operation *op = root.getDefiningOp();
  return getStep(isInLoopMemory(op) ? nest.getLoop(op) : op);
}

Value Storage::getRoot(Value value) const {
  while (Value base = getBase(value))
    value = base;
  return value;
}

/// The operations that use `root`, once for each use, through views and waits.
static SmallVector<Operation *> getReaders(Value root) {
  SmallVector<Operation *> readers;
  SmallVector<Value> names = {root};
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers())
      if (isa<dist::ViewOp, dist::WaitOp>(user))
        llvm::append_range(names, user->getResults());
      else
        readers.push_back(user);
  return readers;
}

bool Storage::canReduceInPlace(dist::CollectiveOp op, unsigned part) const {
  Value input = op.getPartInput(part), result = op.getPartResult(part);
  if (op.getKind() != dist::CollectiveKind::AllReduce || getOffset(input) != 0)
    return false;
  Value root = getRoot(input);
  Operation *maker = root.getDefiningOp();
  // The memory of a loop's values serves more than one iteration.
  if (!maker || isa<net::ReadOp>(maker) || isInLoopMemory(maker) || nest.getLoop(maker) != nest.getLoop(op) ||
      isPersistent(maker) || getBytes(root.getType()) != getBytes(result.getType()))
    return false;
  int64_t reads = 0;
  for (Operation *reader : getReaders(root)) {
    // Another asynchronous reader may read the value later than at its start.
    reads += reader == op;
    if (reader != op &&
        (isa<dist::CollectiveOp, dist::CopyOp>(reader) || net::isOutput(reader) || getStep(reader) > getStep(op)))
      return false;
  }
  return reads == 1;
}

ArrayRef<Value> Storage::getTaken(net::LoopOp loop) const {
  auto values = taken.find(loop);
  return values == taken.end() ? ArrayRef<Value>() : values->second.getArrayRef();
}

std::optional<int64_t> Storage::getLastReadOfPart(Value root, net::LoopOp loop) const {
  Operation *maker = root.getDefiningOp();
  if (!maker)
    return std::nullopt;
  net::LoopOp around = nest.getLoop(maker);
  if ((net::leavesLoop(maker) ? nest.getParent(around) : around) != nest.getParent(loop))
    return std::nullopt;
  int64_t begin = getStep(loop), last = begin;
  for (Operation *reader : getReaders(root)) {
    auto take = dyn_cast<net::TakeOp>(reader);
    if (take && nest.getLoop(take) == loop && getBase(take.getResult()) && getOffset(take.getStack()) == 0 &&
        getBytes(take.getStack().getType()) == getBytes(root.getType()))
      last = std::max(last, iterationReads.lookup(take));
    else if (getReadStep(reader, getReadEnd(reader), root) >= begin)
      return std::nullopt;
  }
  return last;
}

bool Storage::isOnHost(Value root) const {
  if (auto copy = root.getDefiningOp<dist::CopyOp>())
    return copy.getMemory() == dist::MemoryKind::Host;
  auto read = root.getDefiningOp<net::ReadOp>();
  return read && hostVariables.contains(read.getVariableAttr().getAttr());
}

static std::optional<int64_t> getStatedOffset(Value value) {
  auto result = cast<OpResult>(value);
  auto offsets = dist::kOffsetsAttr.get(result.getOwner());
  bool isStated = offsets && offsets.size() == result.getOwner()->getNumResults();
  return isStated ? std::optional(offsets[result.getResultNumber()]) : std::nullopt;
}

Value Storage::getHost(OpResult value) const {
  SmallVector<Value> names = {value};
  while (!names.empty() && nest.getLoop(value.getOwner()))
    for (OpOperand &use : names.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<dist::ViewOp>(user))
        names.push_back(user->getResult(0));
      auto next = dyn_cast<net::NextOp>(user);
      bool becomesPart = isa<net::StackOp>(user) || (next && use.getOperandNumber() == 0);
      if (!becomesPart || getRoot(use.get()) != value)
        continue;
      Value host = next ? Value(next.getCarry()) : Value(user->getResult(0));
      if (host != value && getStatedOffset(value) && getStatedOffset(value) == getStatedOffset(host))
        return host;
    }
  return {};
}

Value Storage::getReplaced(net::StackOp stack) const {
  Value result = stack.getResult();
  for (Value root : getTaken(nest.getLoop(stack)))
    if (isa<OpResult>(root) && getStatedOffset(root) && getStatedOffset(root) == getStatedOffset(result))
      return root;
  return {};
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
