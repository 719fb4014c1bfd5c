//===- Verify.cpp - the gate of Schedule ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives lifetimes again from the operations, and compares the places that values state: nothing here relies on how
// they were assigned.
//
//===----------------------------------------------------------------------===//

#include "CheckActions.h"
#include "CollectiveOrder.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Uses.h"
#include "meshwright/Memory/Arena.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Programs.h"
#include <map>
#include <numeric>

namespace meshwright::schedule {
#define GEN_PASS_DEF_VERIFYPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// A value's place, and the steps between which nothing else may be there.
struct Place {
  Value value;
  int64_t offset, bytes, first, last;
};

class Checker {
public:
  explicit Checker(func::FuncOp func) : func(func), storage(func) {}
  LogicalResult run();

private:
  LogicalResult checkOperations();
  LogicalResult checkMemories();
  LogicalResult checkLoops();
  LogicalResult collect();
  LogicalResult checkPart(OpResult value, Value host) const;
  LogicalResult checkOverlaps(ArrayRef<Place> places);
  bool mayShare(const Place &old, const Place &young) const;
  bool mayReplace(net::StackOp stack, Value taken) const;
  bool mayOverwrite(OpResult value, Value old, int64_t lastRead) const;

  func::FuncOp func;
  Storage storage;
  /// In the memory of the device, and in that of the host.
  SmallVector<Place> places, hostPlaces;
};

} // namespace

static std::optional<int64_t> getOffset(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto attr = dist::kOffsetAttr.getOfArgument(func, argument.getArgNumber());
    return attr ? std::optional(attr.getInt()) : std::nullopt;
  }
  auto result = cast<OpResult>(value);
  auto attr = dist::kOffsetsAttr.get(result.getOwner());
  if (!attr || attr.size() != result.getOwner()->getNumResults())
    return std::nullopt;
  return attr[result.getResultNumber()];
}

LogicalResult Checker::checkOperations() {
  for (Operation &op : func.getBody().front()) {
    // The runtime has no sum over iterations; LowerLoops makes it a carried value.
    bool isPartOfLoop = op.hasTrait<net::LoopPart>() && !isa<net::TotalOp>(op);
    bool known = isComputation(&op) || isAlwaysAvailable(&op) || net::isOutput(&op) || isPartOfLoop ||
                 isa<dist::CollectiveOp, dist::CopyOp, dist::WaitOp, dist::ViewOp, dist::AbsentOp>(op);
    if (!known)
      return op.emitError() << "operation " << op.getName() << " is left over; the runtime has none of that name";
  }
  return success();
}

/// Checks that values in the host's memory are only copied and assigned, and that nothing else is done to variables of
/// the host.
LogicalResult Checker::checkMemories() {
  auto module = func->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  auto isOnHost = [&](Value value) { return storage.isOnHost(storage.getRoot(value)); };
  for (Operation &op : func.getBody().front()) {
    if (op.getNumResults() > 0 && Storage::hasMemory(&op) &&
        isOnHost(op.getResult(0)) != dist::kInHostArenaAttr.isOn(&op))
      return op.emitError() << "operation states a place in the other arena than its result is in";
    auto copy = dyn_cast<dist::CopyOp>(op);
    auto assign = dyn_cast<net::AssignOp>(op);
    bool toHost = (copy && copy.getMemory() == dist::MemoryKind::Host) ||
                  (assign && dist::isOnHost(symbols.lookup(assign.getVariable())));
    for (Value operand : op.getOperands()) {
      bool fromHost = isOnHost(operand);
      if (copy && fromHost == toHost)
        return op.emitError() << "copy reads a value that is in the memory of the " << (toHost ? "host" : "device")
                              << " already";
      if (assign && fromHost != toHost)
        return op.emitError() << "variable @" << assign.getVariable() << " is in the memory of the "
                              << (toHost ? "host" : "device") << " but its new value is not";
      if (fromHost && !copy && !assign && !isa<dist::WaitOp>(op))
        return op.emitError() << "operation " << op.getName() << " reads a value in the memory of the host";
    }
  }
  return success();
}

/// Checks that no iteration reads a carried value after its next value is made in the same place, and that nothing
/// computes with the iteration number, which is not in memory.
LogicalResult Checker::checkLoops() {
  for (Operation &op : func.getBody().front()) {
    if (auto next = dyn_cast<net::NextOp>(op))
      if (auto carry = next.getCarry().getDefiningOp<net::CarryOp>();
          storage.getLastReadOfCarry(carry) > storage.getStep(next))
        return next.emitOpError() << "overwrites a carried value that the same iteration still reads";
    for (OpOperand &operand : op.getOpOperands())
      if (operand.get().getDefiningOp<net::LoopOp>() &&
          (!op.hasTrait<net::LoopPart>() || (operand.getOperandNumber() == 0 && !isa<net::EndLoopOp>(op))))
        return op.emitOpError() << "computes with the number of an iteration, which has no place in memory";
  }
  return success();
}

/// True if `value` is written after `old` is read for the last time, in step `lastRead`, or while a kernel reads it in
/// place.
bool Checker::mayOverwrite(OpResult value, Value old, int64_t lastRead) const {
  int64_t written = storage.getStep(value.getOwner());
  Value input = getInPlaceInput(value);
  return lastRead < written || (lastRead == written && input && storage.getRoot(input) == old);
}

/// Checks that `value` may be made in the place of `host`.
LogicalResult Checker::checkPart(OpResult value, Value host) const {
  Operation *maker = value.getOwner();
  if (storage.getNest().getLoop(maker) != storage.getNest().getLoop(host.getDefiningOp()))
    return maker->emitOpError() << "is of another loop than the value in whose place its result is";
  auto iterationBytes = dist::kIterationBytesAttr.get(maker);
  int64_t moves = iterationBytes ? iterationBytes[value.getResultNumber()] : 0,
          bytes = Storage::getBytes(value.getType());
  auto carry = host.getDefiningOp<net::CarryOp>();
  if (moves != (carry ? 0 : bytes) || bytes % 64 != (carry ? bytes % 64 : 0))
    return maker->emitOpError() << "has a result of " << bytes << " bytes that moves by " << moves
                                << " in each iteration";
  if (!carry)
    return success();
  if (!mayOverwrite(value, host, storage.getLastReadOfCarry(carry)))
    return maker->emitOpError() << "overwrites a carried value that the same iteration still reads";
  return success();
}

LogicalResult Checker::collect() {
  auto arena = dist::kArenaBytesAttr.get(func);
  if (!arena)
    return func.emitError() << "function has no " << dist::kArenaBytesAttr;
  auto hostArena = dist::kHostArenaBytesAttr.get(func);
  auto add = [&](Value value, int64_t first, int64_t last) -> LogicalResult {
    std::optional<int64_t> offset = getOffset(value);
    int64_t bytes = Storage::getBytes(value.getType());
    bool onHost = storage.isOnHost(storage.getRoot(value));
    int64_t size = onHost ? (hostArena ? hostArena.getInt() : 0) : arena.getInt();
    if (!offset)
      return emitError(value.getLoc()) << "value has no place in the arena";
    if (*offset < 0 || *offset % 64 != 0 || *offset + bytes > size)
      return emitError(value.getLoc()) << "value of " << bytes << " bytes is at offset " << *offset
                                       << " of an arena of " << size;
    if (storage.getRoot(value) == value)
      (onHost ? hostPlaces : places).push_back({value, *offset, bytes, first, last});
    else if (*offset != *getOffset(storage.getRoot(value)) + storage.getOffset(value))
      return emitError(value.getLoc()) << "view is at offset " << *offset << ", not in its input at "
                                       << *getOffset(storage.getRoot(value)) + storage.getOffset(value);
    return success();
  };
  for (BlockArgument argument : func.getArguments())
    if (dist::holds(func, dist::getOn(argument)) && failed(add(argument, 0, storage.getEnd())))
      return failure();
  for (Operation &op : func.getBody().front())
    for (Value result : op.getResults()) {
      if (!Storage::hasMemory(&op))
        continue;
      if (Value host = storage.getHost(cast<OpResult>(result))) {
        if (failed(checkPart(cast<OpResult>(result), host)))
          return failure();
        continue;
      }
      bool persists = Storage::isPersistent(&op);
      // A variable's memory may hold the new value as soon as the old one is not read any more.
      int64_t first = isa<net::ReadOp>(op) || persists ? 0 : storage.getFirst(result);
      if (failed(add(result, first, persists ? storage.getEnd() : storage.getLastUse(result))))
        return failure();
    }
  return success();
}

/// True if the parts of `stack` may be where those of `taken` are.
bool Checker::mayReplace(net::StackOp stack, Value taken) const {
  std::optional<int64_t> lastRead = storage.getLastReadOfPart(taken, storage.getNest().getLoop(stack));
  if (!lastRead)
    return false;
  // A value with a place of its own is copied to the stack.
  auto value = dyn_cast<OpResult>(storage.getRoot(stack.getValue()));
  bool isHosted = value && storage.getHost(value) == stack.getResult();
  return mayOverwrite(isHosted ? value : cast<OpResult>(stack.getResult()), taken, *lastRead);
}

/// True if `young` may begin where `old` ends in the same step: a kernel that writes in place says so, and an
/// all-reduce may end where it began.
bool Checker::mayShare(const Place &old, const Place &young) const {
  if (auto collective = young.value.getDefiningOp<dist::CollectiveOp>())
    for (unsigned part = 0; part < collective.getNumParts(); ++part)
      if (collective.getPartResult(part) == young.value && collective.getPartInput(part))
        return old.offset == young.offset && storage.getRoot(collective.getPartInput(part)) == old.value &&
               storage.canReduceInPlace(collective, part);
  if (auto carry = young.value.getDefiningOp<net::CarryOp>())
    return old.last == young.first && old.offset == young.offset && old.bytes == young.bytes &&
           storage.getRoot(carry.getInit()) == old.value;
  if (auto stack = young.value.getDefiningOp<net::StackOp>())
    return old.offset == young.offset && old.bytes == young.bytes && mayReplace(stack, old.value);
  auto result = dyn_cast<OpResult>(young.value);
  Value input = result ? getInPlaceInput(result) : Value();
  return input && storage.getRoot(input) == old.value && old.last == young.first && old.offset == young.offset &&
         old.bytes == young.bytes;
}

LogicalResult Checker::checkOverlaps(ArrayRef<Place> places) {
  SmallVector<unsigned> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned left, unsigned right) {
    return std::make_pair(places[left].first, left) < std::make_pair(places[right].first, right);
  });
  // By offset; lives at least as long as the sweep has come.
  std::map<int64_t, const Place *> live;
  std::multimap<int64_t, const Place *> ends;
  for (unsigned index : order) {
    const Place &place = places[index];
    if (place.bytes == 0)
      continue;
    while (!ends.empty() && ends.begin()->first < place.first) {
      auto dead = live.find(ends.begin()->second->offset);
      if (dead != live.end() && dead->second == ends.begin()->second)
        live.erase(dead);
      ends.erase(ends.begin());
    }
    auto next = live.upper_bound(place.offset);
    for (auto near : {next, next == live.begin() ? live.end() : std::prev(next)}) {
      if (near == live.end())
        continue;
      const Place &other = *near->second;
      bool apart = other.offset + other.bytes <= place.offset || place.offset + place.bytes <= other.offset;
      if (apart || mayShare(other, place))
        continue;
      InFlightDiagnostic error = emitError(place.value.getLoc())
                                 << "value at offset " << place.offset << " overlaps one of " << other.bytes
                                 << " bytes at offset " << other.offset << " that is still read";
      error.attachNote(other.value.getLoc()) << "the other value is made here";
      return error;
    }
    live[place.offset] = &place;
    ends.insert({place.last, &place});
  }
  return success();
}

LogicalResult Checker::run() {
  return success(succeeded(checkOperations()) && succeeded(checkMemories()) && succeeded(checkLoops()) &&
                 succeeded(collect()) && succeeded(checkOverlaps(places)) && succeeded(checkOverlaps(hostPlaces)));
}

/// Checks that persistent values have the same places in all `variants`, the programs of the same ranks.
static LogicalResult checkVariants(ArrayRef<func::FuncOp> variants) {
  func::FuncOp first = variants.front();
  for (func::FuncOp func : variants.drop_front()) {
    auto isSame = [&](auto name) { return name.get(func) == name.get(first); };
    bool agree = isSame(dist::kArenaBytesAttr) && isSame(dist::kPersistentBytesAttr) && isSame(dist::kVariablesAttr) &&
                 isSame(dist::kOutputsAttr);
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      agree &= func.getArgAttr(index, dist::kOffsetAttr) == first.getArgAttr(index, dist::kOffsetAttr);
    if (agree)
      continue;
    InFlightDiagnostic error = func.emitError() << "has persistent values in other places than @" << first.getSymName()
                                                << ", the program of the same ranks at another time";
    error.attachNote(first.getLoc()) << "that program is here";
    return error;
  }
  return success();
}

namespace {

struct VerifyPass : schedule::impl::VerifyPassBase<VerifyPass> {
  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(Checker(func).run()))
        return signalPassFailure();
    for (ArrayRef<func::FuncOp> variants : dist::getVariants(getOperation()))
      if (failed(checkVariants(variants)))
        return signalPassFailure();
    if (failed(checkOrder(getOperation())) || failed(checkActions(getOperation())))
      return signalPassFailure();
  }
};

} // namespace
