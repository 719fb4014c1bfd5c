//===- Report.cpp - memory, traffic and timeline of a scheduled step ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads only attributes and operations of the scheduled function. Live bytes come from a sweep over the lifetimes of
// its buffers; a value that takes the place of another one is counted once.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Report.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Overlap/Traffic.h"
#include "meshwright/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// A value with memory of its own in the step's part of the arena, and the steps in which it lives.
struct Lifetime {
  Value value;
  int64_t bytes, first, last;
};

} // namespace

/// The value that `result` may overwrite: the operand of an all-reduce, an input of a kernel, the initial value of a
/// carried value, or an array whose parts a loop takes.
static Value getOverwritten(OpResult result, const Storage &storage) {
  if (auto collective = dyn_cast<dist::CollectiveOp>(result.getOwner()))
    return collective.getKind() == dist::CollectiveKind::AllReduce ? collective.getPartInput(result.getResultNumber())
                                                                   : Value();
  if (auto carry = dyn_cast<net::CarryOp>(result.getOwner()))
    return carry.getInit();
  if (auto stack = dyn_cast<net::StackOp>(result.getOwner()))
    return storage.getReplaced(stack);
  return getInPlaceInput(result);
}

/// The values that `dist.offsets` places after the persistent part.
static SmallVector<Lifetime> getLifetimes(func::FuncOp func, const Storage &storage) {
  auto persistent = dist::kPersistentBytesAttr.get(func);
  SmallVector<Lifetime> lifetimes;
  llvm::DenseMap<Value, size_t> indices;
  auto getOffset = [](Value value) {
    auto result = cast<OpResult>(value);
    return dist::kOffsetsAttr.get(result.getOwner())[result.getResultNumber()];
  };
  for (Operation &op : func.getBody().front()) {
    auto offsets = dist::kOffsetsAttr.get(&op);
    if (!offsets || !persistent || dist::kInHostArenaAttr.isOn(&op))
      continue;
    for (auto [result, offset] : llvm::zip(op.getResults(), offsets.asArrayRef())) {
      if (offset < persistent.getInt() || storage.getRoot(result) != result || storage.getHost(result))
        continue;
      int64_t last = storage.getLastUse(result);
      // A value in the place of its operand extends the operand's lifetime.
      if (Value before = getOverwritten(result, storage)) {
        auto operand = indices.find(storage.getRoot(before));
        if (operand != indices.end() && getOffset(lifetimes[operand->second].value) == offset) {
          lifetimes[operand->second].last = std::max(lifetimes[operand->second].last, last);
          indices[result] = operand->second;
          continue;
        }
      }
      indices[result] = lifetimes.size();
      // A value that takes the place of an input counts only from the end of the input's lifetime.
      bool replaces = getInPlaceInput(result) != nullptr;
      lifetimes.push_back({result, Storage::getBytes(result.getType()), storage.getFirst(result) + replaces, last});
    }
  }
  return lifetimes;
}

/// The most bytes of values of some kind that live at a time, and when they do first.
static std::pair<int64_t, int64_t> findBusiest(ArrayRef<Lifetime> lifetimes, int64_t end,
                                               llvm::function_ref<bool(Value)> counts) {
  SmallVector<int64_t> change(end + 2, 0);
  for (const Lifetime &lifetime : lifetimes) {
    if (!counts(lifetime.value))
      continue;
    change[lifetime.first] += lifetime.bytes;
    change[lifetime.last + 1] -= lifetime.bytes;
  }
  int64_t live = 0, most = 0, busiest = 0;
  for (auto [step, bytes] : llvm::enumerate(change)) {
    live += bytes;
    if (live > most) {
      most = live;
      busiest = step;
    }
  }
  return {most, busiest};
}

/// True if `op` reduces a value of backward.
static bool reducesGradient(Operation *op) {
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  return collective && Traffic::isReducing(collective) && net::getRole(op) == net::Role::Backward;
}

bool schedule::isGradient(Value value) {
  Operation *maker = value.getDefiningOp();
  bool isNamed = net::getUserName(maker).starts_with(net::kGradientPrefix) &&
                 cast<OpResult>(value).getResultNumber() + 1 == maker->getNumResults();
  if (isNamed || reducesGradient(maker))
    return true;
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return reducesGradient(user) || (isa<dist::ViewOp>(user) && llvm::any_of(user->getUsers(), reducesGradient));
  });
}

/// True if `value` is an iteration's part of a stacked parameter, in any type and layout.
static bool isPartOfParameter(Value value) {
  bool isTaken = false;
  for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (isa<net::ReadOp>(op))
      return isTaken;
    isTaken |= isa<net::TakeOp>(op);
    bool isOfOne = op->getNumOperands() == 1 && isa<dist::ViewOp, dist::KernelOp>(op);
    if (!isOfOne && !isa<net::TakeOp>(op))
      break;
  }
  return false;
}

/// True if `op` fetches a parameter for a segment, or a part of one for an iteration.
static bool isFetch(Operation *op) {
  auto collective = dyn_cast_or_null<dist::CollectiveOp>(op);
  return collective &&
         (dist::kFetchAtAttr.isOn(op) || (Traffic::isFetching(collective) && !collective.getInputs().empty() &&
                                          isPartOfParameter(collective.getInputs().front())));
}

bool schedule::isFetched(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && !isFetch(op) && op->getNumOperands() == 1 && (Traffic::isLayout(op) || isa<dist::WaitOp>(op)))
    op = op->getOperand(0).getDefiningOp();
  while (auto wait = dyn_cast_or_null<dist::WaitOp>(op))
    op = wait.getHandles().front().getDefiningOp();
  return isFetch(op);
}

/// True if `value` is the device's copy of a variable kept on the host: fetched, or to be written back.
static bool isOffloaded(Value value) {
  SmallVector<Value> names = {value};
  if (value.getDefiningOp<dist::CopyOp>())
    return true;
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers()) {
      if (isa<dist::CopyOp>(user))
        return true;
      if (isa<dist::ViewOp, dist::WaitOp>(user))
        llvm::append_range(names, user->getResults());
    }
  return false;
}

/// In a pipeline forward leaves to other actions what is in variables, for as many micro-batches as these have slots.
static void addSlots(func::FuncOp func, const Storage &storage, const llvm::DenseSet<Operation *> &forward,
                     Report &report) {
  if (!dist::kActionAttr.isOn(func))
    return;
  SymbolTable symbols(func->getParentOfType<ModuleOp>());
  for (auto assign : func.getBody().front().getOps<net::AssignOp>()) {
    Operation *variable = symbols.lookup(assign.getVariable());
    auto slots = dist::kSlotsAttr.get(variable);
    Value root = storage.getRoot(assign.getValue());
    if (slots && root.getDefiningOp() && forward.contains(root.getDefiningOp()))
      report.kept.push_back({root, slots.getInt() * Storage::getBytes(assign.getValue().getType())});
  }
}

/// Finds what forward makes and backward reads.
static void addKept(func::FuncOp func, const Storage &storage, Report &report) {
  // Copies in another layout have no role of their own.
  llvm::DenseSet<Operation *> fromParameters, forward;
  llvm::SetVector<Value> kept;
  for (Operation &op : func.getBody().front()) {
    if (llvm::all_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && fromParameters.contains(operand.getDefiningOp());
        }))
      fromParameters.insert(&op);
    std::optional<net::Role> role = net::getRole(&op);
    if (role == net::Role::Forward || (!role && llvm::any_of(op.getOperands(), [&](Value operand) {
          return forward.contains(operand.getDefiningOp());
        })))
      forward.insert(&op);
    if (role != net::Role::Backward)
      continue;
    for (Value operand : op.getOperands()) {
      Value root = storage.getRoot(operand);
      Operation *maker = root.getDefiningOp();
      if (maker && forward.contains(maker) && !fromParameters.contains(maker))
        kept.insert(root);
    }
  }
  for (Value value : kept)
    report.kept.push_back({value, Storage::getBytes(dist::getTensorType(value.getType()))});
  addSlots(func, storage, forward, report);
}

/// The bytes of the fetched parameters that variables keep for the slices of a step.
static int64_t getKeptFetches(func::FuncOp func) {
  SymbolTable symbols(func->getParentOfType<ModuleOp>());
  int64_t bytes = 0;
  auto add = [&](FlatSymbolRefAttr name) {
    if (auto variable = symbols.lookup<net::VariableOp>(name.getAttr()); dist::kOnceAttr.isOn(variable))
      bytes += Storage::getBytes(variable.getTensorType());
  };
  // A slice either makes what is kept or reads it.
  for (Operation &op : func.getBody().front())
    if (auto assign = dyn_cast<net::AssignOp>(op))
      add(assign.getVariableAttr());
    else if (auto read = dyn_cast<net::ReadOp>(op))
      add(read.getVariableAttr());
  return bytes;
}

Report schedule::describe(func::FuncOp func) {
  Report report;
  Storage storage(func);
  for (Operation &op : func.getBody().front()) {
    int64_t iterations = storage.getNest().getIterations(&op);
    report.numKernels += isa<dist::KernelOp>(op) ? iterations : 0;
    report.numProducts += isComputation(&op) && !isa<dist::KernelOp>(op) ? iterations : 0;
    if (auto copy = dyn_cast<dist::CopyOp>(op))
      (copy.getMemory() == dist::MemoryKind::Host ? report.copiedToHost : report.copiedFromHost) +=
          Storage::getBytes(copy.getInput().getType());
    if (!isComputation(&op))
      continue;
    for (Type type : op.getOperandTypes())
      report.trafficBytes += iterations * Storage::getBytes(type);
    for (Type type : op.getResultTypes())
      report.trafficBytes += iterations * Storage::getBytes(type);
  }
  addKept(func, storage, report);
  SmallVector<Lifetime> lifetimes = getLifetimes(func, storage);
  auto [liveBytes, busiest] = findBusiest(lifetimes, storage.getEnd(), [](Value) { return true; });
  report.liveBytes = liveBytes;
  report.gradientBytes = findBusiest(lifetimes, storage.getEnd(), isGradient).first;
  report.fetchedBytes = findBusiest(lifetimes, storage.getEnd(), isFetched).first + getKeptFetches(func);
  report.offloadedBytes = findBusiest(lifetimes, storage.getEnd(), isOffloaded).first;
  for (const Lifetime &lifetime : lifetimes)
    if (lifetime.first <= busiest && busiest <= lifetime.last)
      report.liveAtPeak.push_back({lifetime.value, lifetime.bytes});
  llvm::stable_sort(report.liveAtPeak, [](const auto &a, const auto &b) { return a.second > b.second; });
  return report;
}
