//===- AssignBuffers.cpp - gives every value a place in the arena ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First decides which values share memory (views, updates of variables, kernels and all-reduces in place, parts of
// stacks), then gives each group a lifetime in steps and lays all of them out (Arena.h). Persistent values have fixed
// offsets before these, equal in all variants of a program; the arena is as large as the largest variant needs.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/PortAttributes.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "meshwright/Memory/Arena.h"
#include "meshwright/Memory/IterationBytes.h"
#include "meshwright/Memory/Passes.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <map>

namespace meshwright::schedule {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "meshwright/Memory/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// The places of what persists from step to step, the same for all programs of some ranks.
struct Persistent {
  /// In the memory of the device, and in that of the host.
  int64_t bytes = 0, hostBytes = 0;
  llvm::MapVector<StringAttr, int64_t> variables;
  /// Bytes of the variables that pass values between the actions of a step; they follow the persistent part.
  int64_t betweenBytes = 0;
  /// -1 for what other ranks have. Results have places of their own where there are programs of several times.
  SmallVector<int64_t> arguments, outputs;
  /// Constants and coordinates, by what they are and how often they were met before.
  std::map<std::pair<const void *, unsigned>, int64_t> leaves;
};

/// Places what persists, with all the constants that one of `variants` has.
class PersistentPlacer {
public:
  PersistentPlacer(ArrayRef<func::FuncOp> variants, ModuleOp module) : variants(variants), module(module) {}
  Persistent run();

private:
  int64_t place(Type type, DictionaryAttr holders, dist::MemoryKind memory = dist::MemoryKind::Device);
  void placeVariables(bool shared);
  void reserve();
  void placeSlots();

  ArrayRef<func::FuncOp> variants;
  ModuleOp module;
  Persistent persistent;
};

/// Counts constants and coordinates of a function, and says which is which.
class LeafCounter {
public:
  std::pair<const void *, unsigned> getKey(Operation *op) {
    Attribute identity = op->getPropertiesAsAttribute();
    return {identity.getAsOpaquePointer(), counts[identity]++};
  }

private:
  llvm::DenseMap<Attribute, unsigned> counts;
};

/// Outputs of a kernel that may overwrite inputs: an input and an output with equal numbers may share memory.
class Sharing {
public:
  explicit Sharing(dist::KernelOp kernel);
  bool allows(unsigned input, unsigned output) const {
    return outputs[output] != kNever && (inputs[input] == kUnread || inputs[input] == outputs[output]);
  }

private:
  /// Numbers of an input that is not read, and of a value that shares nothing, such as an input read in several places.
  static constexpr int kUnread = -1, kNever = -2;
  SmallVector<int> inputs, outputs;
};

/// By the text of the kernel.
using SharingTable = llvm::DenseMap<Attribute, std::unique_ptr<Sharing>>;

/// Assigns the buffers of one function.
class Assigner {
public:
  Assigner(func::FuncOp func, const Persistent &persistent, SharingTable &sharing)
      : func(func), persistent(persistent), storage(func), sharing(sharing) {}

  void run();
  int64_t getArenaBytes() const { return arena; }

private:
  void placePersistent();
  void placeOnHost();
  void updateInPlace();
  void placeOutputs();
  void reuseInputs();
  void reduceInPlace();
  void beginInPlace();
  void carryInPlace();
  void stackInPlace();
  bool canBePart(Value value, Value host);
  void replaceTaken();
  bool canReplace(net::StackOp stack, Value taken);
  bool canOverwrite(Value value, Value old, int64_t lastRead);
  void setInPlace(dist::KernelOp kernel, unsigned output, unsigned input);
  SmallVector<unsigned> findDying(dist::KernelOp kernel);
  Value getPlace(Value root) const;
  bool isPlaced(Value root) const { return offsets.contains(getPlace(root)) || hosts.contains(root); }
  bool canUpdate(net::AssignOp assign, net::ReadOp read);
  bool canShare(dist::KernelOp kernel, unsigned input, unsigned output);
  const Sharing &getSharing(dist::KernelOp kernel);
  void placeStep();
  void state();

  func::FuncOp func;
  const Persistent &persistent;
  Storage storage;
  /// The sharing of kernels, by their texts, and of the kernels of this function.
  SharingTable &sharing;
  llvm::DenseMap<Operation *, const Sharing *> sharingOf;
  int64_t arena = 0;
  /// Offsets of roots.
  llvm::DenseMap<Value, int64_t> offsets;
  /// Results that are where an input of their kernel or all-reduce was, or an array that their loop takes parts of.
  llvm::DenseMap<Value, Value> reused;
  /// Values of an iteration that are made in the place of a carried value or a stack.
  llvm::MapVector<Value, Value> hosts;
  /// Values that a carried one overwrites, which begins there, or a stack part by part.
  llvm::DenseSet<Value> overwritten;
  llvm::DenseMap<StringAttr, net::ReadOp> reads;
};

} // namespace

int64_t PersistentPlacer::place(Type type, DictionaryAttr holders, dist::MemoryKind memory) {
  if (!dist::holds(variants.front(), holders))
    return -1;
  int64_t &bytes = memory == dist::MemoryKind::Host ? persistent.hostBytes : persistent.bytes;
  int64_t offset = bytes;
  bytes += llvm::alignTo(Storage::getBytes(type), 64);
  return offset;
}

/// A place for the slots of a variable, one after the other.
void PersistentPlacer::placeSlots() {
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto slots = dist::kSlotsAttr.get(variable);
    auto kept = dist::kMappingAttr.get(variable);
    if (!slots || (kept && !dist::holds(variants.front(), kept.getSupport())))
      continue;
    persistent.variables[variable.getSymNameAttr()] = persistent.bytes + persistent.betweenBytes;
    persistent.betweenBytes += slots.getInt() * getSlotBytes(variable.getTensorType());
  }
}

void PersistentPlacer::placeVariables(bool shared) {
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (dist::kSlotsAttr.isOn(variable) || dist::kSharedAttr.isOn(variable) != shared)
      continue;
    auto kept = dist::kMappingAttr.get(variable);
    int64_t offset = place(variable.getTensorType(), kept ? kept.getSupport() : DictionaryAttr(),
                           dist::isOnHost(variable) ? dist::MemoryKind::Host : dist::MemoryKind::Device);
    if (offset >= 0)
      persistent.variables[variable.getSymNameAttr()] = offset;
  }
}

/// Leaves what the programs keep whose variables these share.
void PersistentPlacer::reserve() {
  auto reserved = dist::kReservedBytesAttr.get(module);
  if (!reserved)
    return;
  persistent.bytes = std::max(persistent.bytes, reserved[0]);
  persistent.hostBytes = std::max(persistent.hostBytes, reserved[1]);
}

Persistent PersistentPlacer::run() {
  func::FuncOp func = dist::getResultFunction(variants);
  placeVariables(/*shared=*/true);
  reserve();
  placeVariables(/*shared=*/false);
  for (BlockArgument argument : func.getArguments())
    persistent.arguments.push_back(place(argument.getType(), dist::getOn(argument)));
  if (dist::hasTimes(func))
    for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
      auto mapping = dist::kMappingAttr.getOfResult(func, index);
      persistent.outputs.push_back(place(type, mapping ? mapping.getSupport() : DictionaryAttr()));
    }
  for (func::FuncOp variant : variants) {
    LeafCounter counter;
    for (Operation &op : variant.getBody().front())
      if (Storage::isPersistent(&op))
        if (auto [known, isNew] = persistent.leaves.try_emplace(counter.getKey(&op)); isNew)
          known->second = place(op.getResult(0).getType(), {});
  }
  placeSlots();
  return std::move(persistent);
}

void Assigner::placePersistent() {
  for (auto [argument, offset] : llvm::zip(func.getArguments(), persistent.arguments))
    if (offset >= 0)
      offsets[argument] = offset;
  LeafCounter counter;
  for (Operation &op : func.getBody().front()) {
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      reads[read.getVariableAttr().getAttr()] = read;
      offsets[read.getResult()] = persistent.variables.lookup(read.getVariableAttr().getAttr());
    } else if (Storage::isPersistent(&op)) {
      offsets[op.getResult(0)] = persistent.leaves.at(counter.getKey(&op));
    }
  }
}

/// A value copied to the host for a variable goes to the variable's place.
void Assigner::placeOnHost() {
  for (auto assign : func.getBody().front().getOps<net::AssignOp>()) {
    Value root = storage.getRoot(assign.getValue());
    if (storage.isOnHost(root) && root.getDefiningOp<dist::CopyOp>())
      offsets[root] = persistent.variables.lookup(assign.getVariableAttr().getAttr());
  }
}

/// True if `kernel` is a scatter into this input: it changes single elements, after they have been read.
static bool isScatteredInto(dist::KernelOp kernel, unsigned input) {
  Block &body = kernel.getBody().front();
  auto scatter = body.getTerminator()->getOperand(0).getDefiningOp<net::ScatterOp>();
  Value argument = body.getArgument(input);
  return scatter && kernel.getNumResults() == 1 && scatter.getOperand() == argument && argument.hasOneUse();
}

Sharing::Sharing(dist::KernelOp kernel)
    : inputs(kernel.getInputs().size(), kUnread), outputs(kernel.getNumResults(), kNever) {
  PlannedKernel planned = planKernel(kernel);
  if (!planned.plan) {
    for (unsigned input = 0; input < inputs.size(); ++input)
      inputs[input] = isScatteredInto(kernel, input) ? 0 : kNever;
    llvm::fill(outputs, llvm::is_contained(inputs, 0) ? 0 : kNever);
    return;
  }
  // Every element is read where it is written, before anything is: in one stage, at one position, which has a number.
  std::map<std::vector<int64_t>, int> numbers;
  auto getNumber = [&](const LinearForm &position) {
    std::vector<int64_t> key = {position.constant};
    for (auto [variable, coefficient] : position.terms)
      key.insert(key.end(), {static_cast<int64_t>(variable), coefficient});
    return numbers.try_emplace(std::move(key), numbers.size()).first->second;
  };
  for (const std::unique_ptr<Node> &node : planned.plan->nodes)
    if (node->kind == Node::Load) {
      int number = getNumber(node->position), &known = inputs[node->index];
      known = known == kUnread || known == number ? number : kNever;
    }
  if (planned.plan->numStages == 1)
    for (const Store &store : planned.plan->stores)
      outputs[store.output] = getNumber(store.position);
}

const Sharing &Assigner::getSharing(dist::KernelOp kernel) {
  const Sharing *&found = sharingOf[kernel];
  if (!found) {
    std::unique_ptr<Sharing> &known = sharing[StringAttr::get(kernel.getContext(), getKernelText(kernel))];
    if (!known)
      known = std::make_unique<Sharing>(kernel);
    found = known.get();
  }
  return *found;
}

bool Assigner::canShare(dist::KernelOp kernel, unsigned input, unsigned output) {
  return getSharing(kernel).allows(input, output);
}

/// True if the new value can overwrite the old one: nothing reads the old one later, and the kernel that makes the new
/// one, if it reads the old, reads each element where it writes it.
bool Assigner::canUpdate(net::AssignOp assign, net::ReadOp read) {
  Value root = storage.getRoot(assign.getValue());
  Operation *maker = root.getDefiningOp();
  // Under another shape it is the same memory, as long as it is all of it.
  if (!maker || offsets.contains(root) || storage.getOffset(assign.getValue()) != 0 ||
      Storage::getBytes(root.getType()) != Storage::getBytes(assign.getValue().getType()))
    return false;
  return !read || canOverwrite(root, read.getResult(), storage.getLastUse(read.getResult()));
}

/// Says that `kernel` may write an output where an input is.
void Assigner::setInPlace(dist::KernelOp kernel, unsigned output, unsigned input) {
  SmallVector<int64_t> inPlace(kernel.getNumResults(), -1);
  if (auto known = kernel.getInPlace())
    inPlace.assign(known->begin(), known->end());
  inPlace[output] = input;
  kernel.setInPlace(inPlace);
}

void Assigner::updateInPlace() {
  for (auto assign : func.getBody().front().getOps<net::AssignOp>()) {
    StringAttr name = assign.getVariableAttr().getAttr();
    if (canUpdate(assign, reads.lookup(name)))
      offsets[storage.getRoot(assign.getValue())] = persistent.variables.lookup(name);
  }
}

/// Lets results be made where they are kept; those that are somewhere else already are copied at the end.
void Assigner::placeOutputs() {
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  for (auto [value, offset] : llvm::zip(ret.getOperands(), persistent.outputs)) {
    Value root = storage.getRoot(value);
    if (root.getDefiningOp() && !isa<dist::AbsentOp>(root.getDefiningOp()) && !offsets.contains(root) &&
        storage.getOffset(value) == 0 && Storage::getBytes(root.getType()) == Storage::getBytes(value.getType()))
      offsets[root] = offset;
  }
}

/// The value whose memory `root` is in.
Value Assigner::getPlace(Value root) const {
  while (Value input = reused.lookup(root))
    root = input;
  return root;
}

/// The inputs of `kernel` that die in it and whose memory nothing else has.
SmallVector<unsigned> Assigner::findDying(dist::KernelOp kernel) {
  llvm::DenseMap<Value, unsigned> reads;
  for (Value input : kernel.getInputs())
    ++reads[storage.getRoot(input)];
  llvm::DenseSet<int64_t> taken;
  if (auto inPlace = kernel.getInPlace())
    taken.insert(inPlace->begin(), inPlace->end());
  SmallVector<unsigned> dying;
  for (auto [index, input] : llvm::enumerate(kernel.getInputs())) {
    Value root = storage.getRoot(input);
    // In flight or not, it is the value and not a part of it.
    if (dist::getTensorType(root.getType()) == input.getType() && reads[root] == 1 && !isPlaced(root) &&
        root.getDefiningOp() && storage.getLastUse(root) == storage.getStep(kernel) &&
        !taken.contains(static_cast<int64_t>(index)))
      dying.push_back(index);
  }
  return dying;
}

/// Lets a kernel's result take the memory of an input that dies there: this saves memory, and the lines are in the
/// cache.
void Assigner::reuseInputs() {
  for (auto kernel : func.getBody().front().getOps<dist::KernelOp>()) {
    SmallVector<unsigned> dying = findDying(kernel);
    SmallVector<int64_t> inPlace(kernel.getNumResults(), -1);
    if (auto known = kernel.getInPlace())
      inPlace.assign(known->begin(), known->end());
    bool any = false;
    for (OpResult result : kernel->getResults()) {
      if (dying.empty() || isPlaced(result))
        continue;
      const Sharing &allowed = getSharing(kernel);
      auto *input = llvm::find_if(dying, [&](unsigned candidate) {
        return kernel.getInputs()[candidate].getType() == result.getType() &&
               allowed.allows(candidate, result.getResultNumber());
      });
      if (input == dying.end())
        continue;
      inPlace[result.getResultNumber()] = *input;
      reused[result] = storage.getRoot(kernel.getInputs()[*input]);
      dying.erase(input);
      any = true;
    }
    if (any)
      kernel.setInPlace(inPlace);
  }
}

/// Lets an all-reduce that is the last reader of its operand overwrite it with the sum.
void Assigner::reduceInPlace() {
  for (auto op : func.getBody().front().getOps<dist::CollectiveOp>())
    for (unsigned part = 0; part < op.getNumParts(); ++part) {
      if (!op.getPartInput(part) || !op.getPartResult(part) || isPlaced(op.getPartResult(part)) ||
          !storage.canReduceInPlace(op, part))
        continue;
      Value root = storage.getRoot(op.getPartInput(part));
      if (!isPlaced(root))
        reused[op.getPartResult(part)] = root;
    }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A carried value begins where its first one is, if nothing reads that any more.
void Assigner::beginInPlace() {
  for (auto carry : func.getBody().front().getOps<net::CarryOp>()) {
    Value root = storage.getRoot(carry.getInit());
    Operation *maker = root.getDefiningOp();
    if (!maker || offsets.contains(carry.getResult()) || isPlaced(root) || root.getType() != carry.getType() ||
        storage.getLastUse(root) != storage.getFirst(carry.getResult()) || !overwritten.insert(root).second)
      continue;
    reused[carry.getResult()] = root;
  }
}

/// True if the memory of `value` can be a part of that of `host`, of the same loop: the value is everything that one
/// operation stores there in every iteration.
bool Assigner::canBePart(Value value, Value host) {
  Value root = storage.getRoot(value);
  Operation *maker = root.getDefiningOp();
  return maker && (isComputation(maker) || isa<dist::CollectiveOp>(maker)) && isa<RankedTensorType>(root.getType()) &&
         !isPlaced(root) && !overwritten.contains(root) && storage.getOffset(value) == 0 &&
         Storage::getBytes(root.getType()) == Storage::getBytes(value.getType()) &&
         storage.getNest().getLoop(maker) == storage.getNest().getLoop(host.getDefiningOp());
}

/// True if the maker of `value` can overwrite the memory of `old`, which is read until step `lastRead`; of a carried
/// value or a part of an array, within an iteration. Nothing reads it later, and a kernel that reads it reads each
/// element where it writes it.
bool Assigner::canOverwrite(Value value, Value old, int64_t lastRead) {
  int64_t written = storage.getFirst(value);
  auto kernel = value.getDefiningOp<dist::KernelOp>();
  if (lastRead != written || !kernel)
    return lastRead < written;
  SmallVector<unsigned> inputs;
  for (auto [index, input] : llvm::enumerate(kernel.getInputs()))
    if (storage.getRoot(input) == old)
      inputs.push_back(index);
  unsigned output = cast<OpResult>(value).getResultNumber();
  if (inputs.size() != 1 || kernel.getInputs()[inputs[0]].getType() != value.getType() ||
      !canShare(kernel, inputs[0], output) ||
      (kernel.getInPlace() && llvm::is_contained(*kernel.getInPlace(), static_cast<int64_t>(inputs[0]))))
    return false;
  setInPlace(kernel, output, inputs[0]);
  return true;
}

/// Makes the next value of a carried one in its place, if no iteration needs both.
void Assigner::carryInPlace() {
  for (auto next : func.getBody().front().getOps<net::NextOp>()) {
    auto carry = next.getCarry().getDefiningOp<net::CarryOp>();
    Value root = storage.getRoot(next.getValue());
    if (canBePart(next.getValue(), carry) && canOverwrite(root, carry.getResult(), storage.getLastReadOfCarry(carry)))
      hosts[root] = carry.getResult();
  }
}

/// Makes what is stacked in its place there.
void Assigner::stackInPlace() {
  for (auto stack : func.getBody().front().getOps<net::StackOp>())
    if (hasAlignedParts(stack.getValue()) && canBePart(stack.getValue(), stack))
      hosts[storage.getRoot(stack.getValue())] = stack.getResult();
}

/// True if each part of `stack` can replace the part of `taken` that its iteration takes.
bool Assigner::canReplace(net::StackOp stack, Value taken) {
  if (isPlaced(taken) || overwritten.contains(taken) ||
      Storage::getBytes(taken.getType()) != Storage::getBytes(stack.getType()))
    return false;
  std::optional<int64_t> lastRead = storage.getLastReadOfPart(taken, storage.getNest().getLoop(stack));
  if (!lastRead)
    return false;
  Value root = storage.getRoot(stack.getValue());
  // A value with a place of its own is copied to the stack.
  return hosts.lookup(root) == stack.getResult() ? canOverwrite(root, taken, *lastRead)
                                                 : *lastRead < storage.getStep(stack);
}

/// Lets a stack take the memory of an array whose parts nothing but the same loop reads.
void Assigner::replaceTaken() {
  for (auto stack : func.getBody().front().getOps<net::StackOp>()) {
    if (isPlaced(stack.getResult()) || !hasAlignedParts(stack.getValue()))
      continue;
    ArrayRef<Value> taken = storage.getTaken(storage.getNest().getLoop(stack));
    const auto *found = llvm::find_if(taken, [&](Value value) { return canReplace(stack, value); });
    if (found == taken.end())
      continue;
    overwritten.insert(*found);
    reused[stack.getResult()] = *found;
  }
}

void Assigner::placeStep() {
  ArenaProblem problem;
  llvm::MapVector<Value, unsigned> buffers;
  for (Operation &op : func.getBody().front())
    for (Value result : op.getResults()) {
      if (!Storage::hasMemory(&op) || storage.getRoot(result) != result || offsets.contains(result) ||
          hosts.contains(result))
        continue;
      auto [buffer, isNew] = buffers.insert({getPlace(result), problem.buffers.size()});
      int64_t last = storage.getLastUse(result);
      if (isNew)
        problem.buffers.push_back({Storage::getBytes(result.getType()), storage.getFirst(result), last});
      else
        problem.buffers[buffer->second].last = std::max(problem.buffers[buffer->second].last, last);
    }
  ArenaLayout layout = layOut(problem);
  for (auto [value, buffer] : buffers)
    offsets[value] = persistent.bytes + persistent.betweenBytes + layout.offsets[buffer];
  for (auto [result, input] : reused)
    offsets[result] = offsets[getPlace(result)];
  for (auto [value, host] : hosts)
    offsets[value] = offsets[host];
  arena = persistent.bytes + persistent.betweenBytes + layout.bytes;
}

void Assigner::state() {
  OpBuilder builder(func.getContext());
  dist::PortAttributes ports;
  for (BlockArgument argument : func.getArguments())
    if (offsets.contains(argument))
      ports.set(argument, dist::kOffsetAttr, builder.getI64IntegerAttr(offsets[argument]));
  ports.write();
  for (Operation &op : func.getBody().front()) {
    if (op.getNumResults() == 0 || !Storage::hasMemory(&op))
      continue;
    SmallVector<int64_t> list, iterationBytes;
    for (Value result : op.getResults()) {
      list.push_back(offsets[storage.getRoot(result)] + storage.getOffset(result));
      Value host = hosts.lookup(result);
      iterationBytes.push_back(host && host.getDefiningOp<net::StackOp>() ? Storage::getBytes(result.getType()) : 0);
    }
    dist::kOffsetsAttr.set(&op, builder.getDenseI64ArrayAttr(list));
    if (llvm::any_of(iterationBytes, [](int64_t bytes) { return bytes != 0; }))
      dist::kIterationBytesAttr.set(&op, builder.getDenseI64ArrayAttr(iterationBytes));
    if (storage.isOnHost(storage.getRoot(op.getResult(0))))
      dist::kInHostArenaAttr.set(&op, builder.getUnitAttr());
  }
  SmallVector<NamedAttribute> named;
  for (auto [name, offset] : persistent.variables)
    named.push_back({name, builder.getI64IntegerAttr(offset)});
  dist::kVariablesAttr.set(func, builder.getDictionaryAttr(named));
  dist::kPersistentBytesAttr.set(func, builder.getI64IntegerAttr(persistent.bytes));
  if (persistent.hostBytes > 0)
    dist::kHostArenaBytesAttr.set(func, builder.getI64IntegerAttr(persistent.hostBytes));
  if (!persistent.outputs.empty())
    dist::kOutputsAttr.set(func, builder.getDenseI64ArrayAttr(persistent.outputs));
}

void Assigner::run() {
  placePersistent();
  placeOnHost();
  updateInPlace();
  placeOutputs();
  beginInPlace();
  carryInPlace();
  stackInPlace();
  replaceTaken();
  reuseInputs();
  reduceInPlace();
  placeStep();
  state();
}

namespace {

struct AssignBuffersPass : schedule::impl::AssignBuffersPassBase<AssignBuffersPass> {
  void runOnOperation() override {
    SharingTable sharing;
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    for (ArrayRef<func::FuncOp> variants : dist::getVariants(getOperation()))
      assign(variants, sharing);
  }

  /// All programs of the same ranks, at whatever times, have one arena.
  void assign(ArrayRef<func::FuncOp> variants, SharingTable &sharing) {
    Persistent persistent = PersistentPlacer(variants, getOperation()).run();
    int64_t arena = 0;
    for (func::FuncOp func : variants) {
      Assigner assigner(func, persistent, sharing);
      assigner.run();
      arena = std::max(arena, assigner.getArenaBytes());
    }
    for (func::FuncOp func : variants)
      dist::kArenaBytesAttr.set(func, Builder(&getContext()).getI64IntegerAttr(arena));
  }
};

} // namespace
