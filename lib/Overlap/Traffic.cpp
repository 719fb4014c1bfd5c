//===- Traffic.cpp - classifies collectives by their purpose --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides for each collective whether its readers can wait (a reduction for the update, a gather of a new value),
// whether it fetches a parameter for a segment, or whether it has to stay at its place.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Overlap/Traffic.h"
#include "Launches.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Uses.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

bool Traffic::isReducing(dist::CollectiveOp op) { return dist::getTraits(op.getKind()).isReducing(); }

bool Traffic::isFetching(dist::CollectiveOp op) {
  return op.getKind() == dist::CollectiveKind::AllGather || op.getKind() == dist::CollectiveKind::Broadcast;
}

bool Traffic::isLayout(Operation *op) {
  if (isa<dist::ViewOp>(op))
    return true;
  auto kernel = dyn_cast<dist::KernelOp>(op);
  return kernel && llvm::all_of(kernel.getBody().front(), [](Operation &inner) {
           return inner.hasTrait<OpTrait::ConstantLike>() || inner.hasTrait<OpTrait::IsTerminator>() ||
                  net::getMovement(&inner);
         });
}

/// The maker of `value`, looking through layout operations.
static Operation *getMaker(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && Traffic::isLayout(op) && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// True if `op` is a kernel that converts one value, element by element: a parameter cast to the type in which it is
/// sent.
static bool convertsOne(Operation *op) {
  if (!isa<dist::KernelOp>(op) || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  return dist::getTensorType(op->getOperand(0).getType()).getNumElements() ==
         dist::getTensorType(op->getResult(0).getType()).getNumElements();
}

/// The name of `value` where it was made; null if it has none. A kernel has the name of its last result.
static StringAttr getNameOfValue(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *maker = result.getOwner();
    if (auto read = dyn_cast<net::ReadOp>(maker))
      return read.getVariableAttr().getAttr();
    if (auto name = net::kNameAttr.get(maker))
      return result.getResultNumber() + 1 == maker->getNumResults() ? name : StringAttr();
    // An iteration's part has the name of the whole.
    if (auto take = dyn_cast<net::TakeOp>(maker)) {
      value = take.getStack();
      continue;
    }
    bool goesOn = isa<dist::CollectiveOp>(maker) || Traffic::isLayout(maker) || convertsOne(maker);
    if (!goesOn || maker->getNumOperands() != 1)
      break;
    value = maker->getOperand(0);
  }
  return {};
}

StringAttr Traffic::getName(dist::CollectiveOp op) {
  if (auto name = net::kNameAttr.get(op))
    return name;
  // A broadcast from another rank takes nothing.
  if (StringAttr name = op.getInputs().empty() ? StringAttr() : getNameOfValue(op.getInputs().front()))
    return name;
  // A value that is only assigned has the variable's name, and one that is only stacked the stack's.
  for (Operation *user = op; !user->use_empty();) {
    user = *user->user_begin();
    if (auto assign = dyn_cast<net::AssignOp>(user))
      return assign.getVariableAttr().getAttr();
    if (auto stack = dyn_cast<net::StackOp>(user)) {
      if (auto name = net::kNameAttr.get(stack))
        return name;
      break;
    }
    if (!isLayout(user))
      break;
  }
  auto scope = net::kScopeAttr.get(op);
  return scope ? scope : StringAttr::get(op->getContext(), "");
}

/// Users come before: whether nothing but the update and the end of the step waits for `op`.
bool Traffic::findLate(Operation *op) const {
  if (net::isOutput(op) || net::getRole(op) == net::Role::Optimize)
    return true;
  if (op->use_empty() || !llvm::all_of(op->getUsers(), [&](Operation *user) { return late.contains(user); }))
    return false;
  if (isLayout(op) || isa<dist::CollectiveOp>(op))
    return true;
  // Operations on a reduced gradient that have the role of backward: the cast back to its type, or a factor.
  auto reduced = [](Operation *maker) {
    auto collective = dyn_cast_or_null<dist::CollectiveOp>(maker);
    return collective && isReducing(collective);
  };
  return isa<dist::KernelOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return reduced(getMaker(operand)); }) &&
         llvm::none_of(op->getUsers(), reduced);
}

/// True if the result of `op` is only assigned or returned, in whatever layout.
bool Traffic::isOnlyStored(Operation *op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
    return net::isOutput(user) || onlyStored.contains(user);
  });
}

/// The collective that alone reads all of what `op` makes.
dist::CollectiveOp Traffic::findNext(dist::CollectiveOp op) const {
  if (op.getKind() == dist::CollectiveKind::AllReduce)
    return {};
  Value value = op.getResult(0);
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    auto view = dyn_cast<dist::ViewOp>(user);
    if (!view) {
      auto next = dyn_cast<dist::CollectiveOp>(user);
      bool fits = next && next.getKind() == dist::CollectiveKind::AllReduce && isSingle(next);
      return fits ? next : dist::CollectiveOp();
    }
    if (view.getType().getNumElements() != view.getInput().getType().getNumElements())
      return {};
    value = view.getResult();
  }
  return {};
}

Traffic::Purpose Traffic::classify(dist::CollectiveOp op) {
  if (!isSingle(op))
    return Purpose::Other;
  if (isFetching(op)) {
    if (dist::kFetchAtAttr.isOn(op))
      return Purpose::Fetch;
    return onlyStored.contains(op) ? Purpose::Update : Purpose::Other;
  }
  if (!isReducing(op) || !late.contains(op))
    return Purpose::Other;
  Operation *maker = getMaker(op.getInputs().front());
  Purpose before = maker ? purposes.lookup(maker) : Purpose::Other;
  if (before == Purpose::Gradient && nexts.lookup(maker) == op)
    return Purpose::Chained;
  // A kernel has the role of the last of its operations; a conversion's own is nearer.
  std::optional<net::Role> role = net::getRole(op), made = maker ? net::getRole(maker) : std::nullopt;
  bool isGradient = before == Purpose::Gradient || before == Purpose::Chained || role == net::Role::Backward ||
                    (role != net::Role::Forward && made == net::Role::Backward);
  if (!isGradient)
    return Purpose::Other;
  if (dist::CollectiveOp next = findNext(op))
    nexts[op] = next;
  return Purpose::Gradient;
}

/// Finds operations that depend on parameters and inputs alone and serve fetches, fetched values or a segment. They may
/// stand anywhere before their users, and their place says nothing about the progress of the segments.
void Traffic::findOnDemand(Block &block, const net::LoopNest &nest) {
  llvm::DenseSet<Operation *> fromState, fromFetch;
  for (Operation &op : block) {
    bool isFetch = purposes.lookup(&op) == Purpose::Fetch;
    if (op.getNumOperands() > 0 && !isFetch && !isa<dist::KernelOp, dist::ViewOp>(op))
      continue;
    bool known = llvm::all_of(op.getOperands(), [&](Value operand) {
      return !operand.getDefiningOp() || fromState.contains(operand.getDefiningOp());
    });
    if (!known)
      continue;
    fromState.insert(&op);
    if (isFetch ||
        llvm::any_of(op.getOperands(), [&](Value operand) { return fromFetch.contains(operand.getDefiningOp()); }))
      fromFetch.insert(&op);
  }
  for (Operation &op : llvm::reverse(block)) {
    // Operations in a loop stay there.
    if (op.getNumOperands() == 0 || nest.getLoop(&op) || !fromState.contains(&op) ||
        purposes.lookup(&op) == Purpose::Fetch)
      continue;
    bool forFetches = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
      return purposes.lookup(user) == Purpose::Fetch || onDemand.contains(user);
    });
    if (forFetches || fromFetch.contains(&op) || dist::kSegmentAttr.isOn(&op))
      onDemand.insert(&op);
  }
}

Traffic::Traffic(func::FuncOp func, const net::LoopNest &nest) {
  Block &block = func.getBody().front();
  for (Operation &op : llvm::reverse(block)) {
    if (findLate(&op))
      late.insert(&op);
    if ((isLayout(&op) || isa<dist::CollectiveOp>(op)) && isOnlyStored(&op))
      onlyStored.insert(&op);
  }
  for (auto op : block.getOps<dist::CollectiveOp>())
    purposes[op] = nest.getLoop(op) ? Purpose::Other : classify(op);
  findOnDemand(block, nest);
}
