//===- MaterializeCopies.cpp - inserts copies of host variables -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After this pass operations read copies of variables kept on the host, and only copies are assigned to these
// variables. All other operations keep their order, which is that of one rank: copies do not involve other ranks.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/CopyPlanner.h"
#include "meshwright/Memory/Passes.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Support/Units.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_MATERIALIZECOPIESPASS
#include "meshwright/Memory/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// A variable of the host in a function.
struct HostVariable {
  net::ReadOp read;
  net::AssignOp assign;
  /// The reads of the variable, directly or through views, in the order of the planner's reads.
  SmallVector<OpOperand *> uses;
};

/// Makes the copies of one function.
class Copier {
public:
  explicit Copier(func::FuncOp func) : func(func), block(func.getBody().front()), builder(func.getContext()) {}

  /// `problem` has the bounds; what is asked of the planner besides is found here.
  LogicalResult run(CopyProblem problem);

  int64_t numFetches = 0, numWriteBacks = 0, numStarts = 0;

private:
  void findVariables();
  void numberOperations();
  void addVariable(HostVariable &variable);
  void addUses(Value value, SmallVectorImpl<OpOperand *> &uses);
  int64_t getEnd(Operation *reader);
  int64_t getMade(Value value);
  Operation *getOperation(int64_t number) {
    return number < static_cast<int64_t>(operations.size()) ? operations[number] : end;
  }

  void apply(const CopyPlan &plan);
  void moveTo(int64_t number);
  dist::CopyOp startFetch(const PlannedCopy &copy, HostVariable &variable);
  dist::CopyOp startWriteBack(const PlannedCopy &copy, HostVariable &variable);
  void finish(const PlannedCopy &copy, dist::CopyOp started);
  dist::CopyOp create(Location loc, Value value, dist::MemoryKind memory, const PlannedCopy &copy, StringAttr name);
  void serve(const PlannedCopy &copy, Value fetched);
  void insertBehind(Operation *op);
  bool takesTime(Operation *op);
  Operation *getUnit(Operation *op);
  Operation *getFront(Operation *op);

  func::FuncOp func;
  Block &block;
  OpBuilder builder;
  net::LoopNest nest;
  /// Kernels, GEMMs, collectives and whole loops, in order; and for every operation the number of these before it, or
  /// before the loop that contains it.
  SmallVector<Operation *> operations;
  llvm::DenseMap<Operation *, int64_t> numbers;
  SmallVector<HostVariable> variables;
  llvm::DenseSet<Operation *> reads;
  CopyProblem problem;
  /// The end of the step: the first assignment, or the terminator.
  Operation *end = nullptr;
  /// The operation after which the next copy is inserted, and the number of operations before that point.
  Operation *cursor = nullptr;
  int64_t position = -1;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding the variables
//===----------------------------------------------------------------------===//

/// Brings reads of variables of the host to the front and all assignments to the end, where they belong anyway.
void Copier::findVariables() {
  auto module = func->getParentOfType<ModuleOp>();
  llvm::MapVector<StringAttr, HostVariable> found;
  for (auto variable : module.getOps<net::VariableOp>())
    if (dist::isOnHost(variable))
      found[variable.getSymNameAttr()] = {};
  end = block.getTerminator();
  if (found.empty())
    return;
  SmallVector<net::ReadOp> read(block.getOps<net::ReadOp>());
  for (net::ReadOp op : read)
    if (auto entry = found.find(op.getVariableAttr().getAttr()); entry != found.end()) {
      entry->second.read = op;
      op->moveBefore(&block, block.begin());
    }
  SmallVector<net::AssignOp> assigned(block.getOps<net::AssignOp>());
  for (net::AssignOp op : assigned) {
    if (auto entry = found.find(op.getVariableAttr().getAttr()); entry != found.end())
      entry->second.assign = op;
    op->moveBefore(block.getTerminator());
  }
  if (!assigned.empty())
    end = assigned.front();
  for (auto &[name, variable] : found)
    if (variable.read || variable.assign) {
      reads.insert(variable.read);
      variables.push_back(variable);
    }
}

/// True if `op` counts as an operation: no copy takes place inside a loop, which counts as one.
bool Copier::takesTime(Operation *op) {
  if (net::LoopOp loop = nest.getLoop(op))
    return op == nest.getEnd(loop) && !nest.getParent(loop);
  return isComputation(op) || isa<dist::CollectiveOp>(op);
}

void Copier::numberOperations() {
  for (Operation &op : block) {
    numbers[&op] = operations.size();
    if (takesTime(&op))
      operations.push_back(&op);
  }
}

/// `op`, or the end of the outermost loop that it is in.
Operation *Copier::getUnit(Operation *op) {
  net::LoopOp loop = op ? nest.getLoop(op) : net::LoopOp();
  while (loop && nest.getParent(loop))
    loop = nest.getParent(loop);
  return loop ? nest.getEnd(loop) : op;
}

/// The place before `op`, or before the loop that it ends.
Operation *Copier::getFront(Operation *op) {
  auto end = dyn_cast<net::EndLoopOp>(op);
  return end ? nest.getLoop(end).getOperation() : op;
}

void Copier::addUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : value.getUses())
    if (isa<dist::ViewOp>(use.getOwner()))
      addUses(use.getOwner()->getResult(0), uses);
    else
      uses.push_back(&use);
}

/// The number of the operation after which `reader` has done with what it reads.
int64_t Copier::getEnd(Operation *reader) {
  Operation *wait = findWait(reader);
  if (wait == reader)
    return numbers.lookup(reader);
  return wait ? numbers.lookup(wait) - 1 : operations.size();
}

/// The value that `value` is a view of.
static Value getWhole(Value value) {
  while (auto view = value.getDefiningOp<dist::ViewOp>())
    value = view.getInput();
  return value;
}

/// The number of the operation that makes `value`, -1 where it is there from the start.
int64_t Copier::getMade(Value value) {
  Operation *maker = getWhole(value).getDefiningOp();
  if (maker && reads.contains(maker))
    return operations.size();
  maker = maker ? getUnit(maker) : nullptr;
  return maker ? numbers.lookup(maker) - !takesTime(maker) : -1;
}

void Copier::addVariable(HostVariable &variable) {
  CopyProblem::Variable &planned = problem.variables.emplace_back();
  if (variable.read) {
    planned.bytes = Storage::getBytes(variable.read.getResult().getType());
    addUses(variable.read.getResult(), variable.uses);
  }
  // Uses are in no order of the program's.
  llvm::sort(variable.uses, [](OpOperand *left, OpOperand *right) {
    Operation *first = left->getOwner(), *second = right->getOwner();
    return first == second ? left->getOperandNumber() < right->getOperandNumber() : first->isBeforeInBlock(second);
  });
  for (OpOperand *use : variable.uses)
    planned.reads.push_back({numbers.lookup(use->getOwner()), getEnd(use->getOwner())});
  if (variable.assign) {
    planned.bytes = Storage::getBytes(variable.assign.getValue().getType());
    planned.made = getMade(variable.assign.getValue());
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Later copies come after the operation before that of `number`.
void Copier::moveTo(int64_t number) {
  if (number == position)
    return;
  position = number;
  int64_t count = operations.size();
  cursor = number > count ? end->getPrevNode() : number > 0 ? operations[number - 1] : nullptr;
}

/// Sets the insertion point after the cursor and, if given, after `op`.
void Copier::insertBehind(Operation *op) {
  if (!cursor || (op && cursor->isBeforeInBlock(op)))
    cursor = op;
  if (cursor)
    builder.setInsertionPointAfter(cursor);
  else
    builder.setInsertionPointToStart(&block);
}

dist::CopyOp Copier::create(Location loc, Value value, dist::MemoryKind memory, const PlannedCopy &copy,
                            StringAttr name) {
  Type type = value.getType();
  if (!copy.isBlocking())
    type = dist::HandleType::get(builder.getContext(), cast<RankedTensorType>(type));
  auto op = dist::CopyOp::create(builder, loc, type, value, memory);
  net::kNameAttr.set(op, name);
  numStarts += !copy.isBlocking();
  cursor = op;
  return op;
}

dist::CopyOp Copier::startFetch(const PlannedCopy &copy, HostVariable &variable) {
  ++numFetches;
  insertBehind(variable.read);
  return create(variable.read.getLoc(), variable.read.getResult(), dist::MemoryKind::Device, copy,
                variable.read.getVariableAttr().getAttr());
}

dist::CopyOp Copier::startWriteBack(const PlannedCopy &copy, HostVariable &variable) {
  ++numWriteBacks;
  Value value = variable.assign.getValue();
  SmallVector<Operation *> views;
  for (Value base = value; base.getDefiningOp<dist::ViewOp>(); base = base.getDefiningOp()->getOperand(0))
    views.push_back(base.getDefiningOp());
  insertBehind(getUnit(getWhole(value).getDefiningOp()));
  // A view stands at its first user, which may be after the copy.
  for (Operation *view : llvm::reverse(views)) {
    if (cursor && cursor->isBeforeInBlock(view))
      view->moveAfter(cursor);
    insertBehind(view);
  }
  return create(variable.assign.getLoc(), value, dist::MemoryKind::Host, copy,
                variable.assign.getVariableAttr().getAttr());
}

/// Erases `op` and the views that read it, if those have no other reader.
static void eraseViews(Operation *op) {
  if (!isa<dist::ViewOp>(op))
    return;
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseViews(user);
  if (op->use_empty())
    op->erase();
}

/// Gives the reads of a fetch what was fetched, under the views through which they read.
void Copier::serve(const PlannedCopy &copy, Value fetched) {
  HostVariable &variable = variables[copy.variable];
  for (unsigned read = copy.firstRead; read < copy.endRead; ++read) {
    OpOperand *use = variable.uses[read];
    SmallVector<Operation *> views;
    for (Value value = use->get(); value != variable.read.getResult(); value = value.getDefiningOp()->getOperand(0))
      views.push_back(value.getDefiningOp());
    Value value = fetched;
    builder.setInsertionPoint(use->getOwner());
    for (Operation *view : llvm::reverse(views)) {
      Operation *clone = builder.clone(*view);
      clone->setOperand(0, value);
      value = clone->getResult(0);
    }
    use->set(value);
  }
}

/// Waits for a copy: a fetch, where nothing forces it earlier, as late as can be.
void Copier::finish(const PlannedCopy &copy, dist::CopyOp started) {
  HostVariable &variable = variables[copy.variable];
  Value value = started.getResult();
  if (!copy.isBlocking()) {
    bool isNeeded = copy.isFetch && problem.variables[copy.variable].reads[copy.firstRead].operation == copy.wait;
    if (isNeeded)
      builder.setInsertionPoint(getFront(getOperation(copy.wait)));
    else
      insertBehind(started);
    auto wait = dist::WaitOp::create(builder, started.getLoc(), value);
    if (!isNeeded)
      cursor = wait;
    value = wait.getResult(0);
  }
  if (copy.isFetch)
    serve(copy, value);
  else
    variable.assign.getValueMutable().assign(value);
}

void Copier::apply(const CopyPlan &plan) {
  SmallVector<dist::CopyOp> started(plan.copies.size());
  for (unsigned event : plan.events) {
    const PlannedCopy &copy = plan.copies[event];
    HostVariable &variable = variables[copy.variable];
    moveTo(started[event] ? copy.wait : copy.start);
    if (started[event])
      finish(copy, started[event]);
    else
      started[event] = copy.isFetch ? startFetch(copy, variable) : startWriteBack(copy, variable);
  }
  // Views of what is in the memory of the host have lost their readers.
  for (const HostVariable &variable : variables)
    if (variable.read)
      for (Operation *user : llvm::make_early_inc_range(variable.read->getUsers()))
        eraseViews(user);
}

LogicalResult Copier::run(CopyProblem bounds) {
  findVariables();
  if (variables.empty())
    return success();
  FailureOr<net::LoopNest> loops = net::LoopNest::find(block);
  if (failed(loops))
    return failure();
  nest = std::move(*loops);
  numberOperations();
  problem = std::move(bounds);
  problem.numOperations = operations.size();
  for (HostVariable &variable : variables)
    addVariable(variable);
  CopyPlan plan = planCopies(problem);
  if (plan.tooMuchAt)
    return getOperation(*plan.tooMuchAt)->emitError()
           << "operation reads variables of the host with which " << plan.liveBytes
           << " bytes of such are on the device, but at most " << problem.maxLiveBytes << " may be";
  apply(plan);
  return success();
}

namespace {

struct MaterializeCopiesPass : schedule::impl::MaterializeCopiesPassBase<MaterializeCopiesPass> {
  using MaterializeCopiesPassBase::MaterializeCopiesPassBase;

  void runOnOperation() override {
    CopyProblem bounds;
    bounds.prefetch = prefetch;
    bounds.maxInFlight = std::max<int64_t>(maxInFlight, 1);
    bounds.maxLiveBytes = maxLive.getBytes();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      Copier copier(func);
      if (failed(copier.run(bounds)))
        return signalPassFailure();
      numFetches += copier.numFetches;
      numWriteBacks += copier.numWriteBacks;
      numStarts += copier.numStarts;
    }
  }
};

} // namespace
