//===- AssignBuffers.cpp - places of values in the arena ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage.h"
#include "dialects/Dist/Support.h"
#include "meshwright/Schedule/Arena.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Schedule/PlannedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Assigns the buffers of one function.
class Assigner {
public:
  Assigner(func::FuncOp func, ModuleOp module, llvm::DenseMap<Attribute, bool> &shareable)
      : func(func), module(module), storage(func), shareable(shareable) {}

  void run();

private:
  void placePersistent();
  void updateInPlace();
  void reuseInputs();
  void reduceInPlace();
  std::optional<unsigned> findReusable(dist::KernelOp kernel, unsigned output);
  Value getPlace(Value root) const;
  bool canUpdate(net::AssignOp assign, net::ReadOp read);
  bool canShare(dist::KernelOp kernel, unsigned input, unsigned output);
  void placeStep();
  void state();

  func::FuncOp func;
  ModuleOp module;
  Storage storage;
  /// Whether a kernel, by its text and two numbers, can write an output where an input is.
  llvm::DenseMap<Attribute, bool> &shareable;
  int64_t persistent = 0, arena = 0;
  llvm::MapVector<StringAttr, int64_t> variables;
  /// Offsets of roots.
  llvm::DenseMap<Value, int64_t> offsets;
  /// Results that are where an input of their kernel or all-reduce was.
  llvm::DenseMap<Value, Value> reused;
  llvm::DenseMap<StringAttr, net::ReadOp> reads;
};

} // namespace

void Assigner::placePersistent() {
  auto place = [&](Type type) {
    int64_t offset = persistent;
    persistent += llvm::alignTo(Storage::getBytes(type), 64);
    return offset;
  };
  for (auto variable : module.getOps<net::VariableOp>())
    if (auto kept = variable->getAttrOfType<dist::MappingAttr>(dist::kMappingAttr);
        !kept || dist::holds(func, kept.getSupport()))
      variables[variable.getSymNameAttr()] = place(variable.getTensorType());
  for (BlockArgument argument : func.getArguments())
    if (dist::holds(func, dist::getOn(argument)))
      offsets[argument] = place(argument.getType());
  for (Operation &op : func.getBody().front()) {
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      reads[read.getVariableAttr().getAttr()] = read;
      offsets[read.getResult()] = variables[read.getVariableAttr().getAttr()];
    } else if (Storage::isPersistent(&op)) {
      offsets[op.getResult(0)] = place(op.getResult(0).getType());
    }
  }
}

bool Assigner::canShare(dist::KernelOp kernel, unsigned input, unsigned output) {
  std::string text = getKernelText(kernel) + "/" + std::to_string(input) + "/" + std::to_string(output);
  auto [known, isNew] = shareable.try_emplace(StringAttr::get(kernel.getContext(), text));
  if (isNew) {
    // Without a plan bufferization copies what would be overwritten too early.
    PlannedKernel planned = planKernel(kernel);
    known->second = !planned.plan || planned.plan->canShare(input, output);
  }
  return known->second;
}

/// Whether the new value can be written over the old one: nothing reads the old one later, and the kernel that makes
/// the new one, if it reads the old, reads each element where it writes it.
bool Assigner::canUpdate(net::AssignOp assign, net::ReadOp read) {
  Value root = storage.getRoot(assign.getValue());
  Operation *maker = root.getDefiningOp();
  // Under another shape it is the same memory, as long as it is all of it.
  if (!maker || offsets.contains(root) || storage.getOffset(assign.getValue()) != 0 ||
      Storage::getBytes(root.getType()) != Storage::getBytes(assign.getValue().getType()))
    return false;
  if (!read)
    return true;
  int64_t written = storage.getStep(maker), lastRead = storage.getLastUse(read.getResult());
  if (lastRead < written)
    return true;
  auto kernel = dyn_cast<dist::KernelOp>(maker);
  if (lastRead > written || !kernel)
    return false;
  SmallVector<unsigned> inputs;
  for (auto [index, input] : llvm::enumerate(kernel.getInputs()))
    if (storage.getRoot(input) == read.getResult())
      inputs.push_back(index);
  unsigned output = cast<OpResult>(root).getResultNumber();
  if (inputs.size() != 1 || kernel.getInputs()[inputs[0]].getType() != root.getType() ||
      !canShare(kernel, inputs[0], output))
    return false;
  SmallVector<int64_t> inPlace(kernel.getNumResults(), -1);
  if (auto known = kernel.getInPlace())
    inPlace.assign(known->begin(), known->end());
  if (llvm::is_contained(inPlace, static_cast<int64_t>(inputs[0])))
    return false;
  inPlace[output] = inputs[0];
  kernel.setInPlace(inPlace);
  return true;
}

void Assigner::updateInPlace() {
  for (auto assign : func.getBody().front().getOps<net::AssignOp>()) {
    StringAttr name = assign.getVariableAttr().getAttr();
    if (canUpdate(assign, reads.lookup(name)))
      offsets[storage.getRoot(assign.getValue())] = variables[name];
  }
}

/// The value whose memory `root` is in.
Value Assigner::getPlace(Value root) const {
  while (Value input = reused.lookup(root))
    root = input;
  return root;
}

/// An input of `kernel` that dies in it and that output `output` can overwrite.
std::optional<unsigned> Assigner::findReusable(dist::KernelOp kernel, unsigned output) {
  auto inPlace = kernel.getInPlace();
  for (auto [index, input] : llvm::enumerate(kernel.getInputs())) {
    Value root = storage.getRoot(input);
    bool once = llvm::count_if(kernel.getInputs(), [&](Value other) { return storage.getRoot(other) == root; }) == 1;
    if (root != input || !once || offsets.contains(getPlace(root)) || !root.getDefiningOp() ||
        input.getType() != kernel.getResult(output).getType() || storage.getLastUse(root) != storage.getStep(kernel) ||
        (inPlace && llvm::is_contained(*inPlace, static_cast<int64_t>(index))))
      continue;
    if (canShare(kernel, index, output))
      return index;
  }
  return std::nullopt;
}

/// What dies in a kernel leaves its memory to a result where it can: less memory, and in the cache already.
void Assigner::reuseInputs() {
  for (auto kernel : func.getBody().front().getOps<dist::KernelOp>())
    for (OpResult result : kernel->getResults()) {
      if (offsets.contains(result))
        continue;
      std::optional<unsigned> input = findReusable(kernel, result.getResultNumber());
      if (!input)
        continue;
      SmallVector<int64_t> inPlace(kernel.getNumResults(), -1);
      if (auto known = kernel.getInPlace())
        inPlace.assign(known->begin(), known->end());
      inPlace[result.getResultNumber()] = *input;
      kernel.setInPlace(inPlace);
      reused[result] = kernel.getInputs()[*input];
    }
}

/// What only an all-reduce reads any more takes the sum.
void Assigner::reduceInPlace() {
  for (auto op : func.getBody().front().getOps<dist::CollectiveOp>())
    for (unsigned part = 0; part < op.getNumParts(); ++part) {
      if (!op.getPartInput(part) || !op.getPartResult(part) || offsets.contains(op.getPartResult(part)) ||
          !storage.canReduceInPlace(op, part))
        continue;
      Value root = storage.getRoot(op.getPartInput(part));
      if (!offsets.contains(getPlace(root)))
        reused[op.getPartResult(part)] = root;
    }
}

void Assigner::placeStep() {
  ArenaProblem problem;
  llvm::MapVector<Value, unsigned> buffers;
  for (Operation &op : func.getBody().front())
    for (Value result : op.getResults()) {
      if (isa<dist::AbsentOp>(op) || storage.getRoot(result) != result || offsets.contains(result))
        continue;
      auto [buffer, isNew] = buffers.insert({getPlace(result), problem.buffers.size()});
      int64_t last = storage.getLastUse(result);
      if (isNew)
        problem.buffers.push_back({Storage::getBytes(result.getType()), storage.getStep(&op), last});
      else
        problem.buffers[buffer->second].last = std::max(problem.buffers[buffer->second].last, last);
    }
  ArenaLayout layout = layOut(problem);
  for (auto [value, buffer] : buffers)
    offsets[value] = persistent + layout.offsets[buffer];
  for (auto [result, input] : reused)
    offsets[result] = offsets[getPlace(result)];
  arena = persistent + layout.bytes;
}

void Assigner::state() {
  OpBuilder builder(func.getContext());
  for (BlockArgument argument : func.getArguments())
    if (offsets.contains(argument))
      func.setArgAttr(argument.getArgNumber(), kOffsetAttr, builder.getI64IntegerAttr(offsets[argument]));
  for (Operation &op : func.getBody().front()) {
    if (op.getNumResults() == 0 || isa<dist::AbsentOp>(op))
      continue;
    SmallVector<int64_t> list;
    for (Value result : op.getResults())
      list.push_back(offsets[storage.getRoot(result)] + storage.getOffset(result));
    op.setAttr(kOffsetsAttr, builder.getDenseI64ArrayAttr(list));
  }
  SmallVector<NamedAttribute> named;
  for (auto [name, offset] : variables)
    named.push_back({name, builder.getI64IntegerAttr(offset)});
  func->setAttr(kVariablesAttr, builder.getDictionaryAttr(named));
  func->setAttr(kPersistentBytesAttr, builder.getI64IntegerAttr(persistent));
  func->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(arena));
}

void Assigner::run() {
  placePersistent();
  updateInPlace();
  reuseInputs();
  reduceInPlace();
  placeStep();
  state();
}

namespace {

struct AssignBuffersPass : schedule::impl::AssignBuffersPassBase<AssignBuffersPass> {
  void runOnOperation() override {
    llvm::DenseMap<Attribute, bool> shareable;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        Assigner(func, getOperation(), shareable).run();
  }
};

} // namespace
