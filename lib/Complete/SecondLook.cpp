//===- SecondLook.cpp - second look at the plan of an axis ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward sweep decides an operation by its operands. Here the plan is read from its end: a value that all uses
// slice is computed in parts; a value on the way to a variable is converted to the storage placement where it is
// narrowest; a value that most uses slice is kept in parts; and a value is gathered once if several elementwise users
// are gathered right after. All but the first are annotations for another sweep.
//
//===----------------------------------------------------------------------===//

#include "AxisSolver.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

//===----------------------------------------------------------------------===//
// Reverse sweep
//===----------------------------------------------------------------------===//

/// The only split state in which uses read the replicated `value`; all other uses are collected in `others`.
std::optional<State> AxisSolver::slicedTo(ValueIndex value, llvm::SmallVectorImpl<Use> &others) const {
  std::optional<State> target;
  for (const Use &use : graph.values[value].uses) {
    const State &asked = plan.operands[use.op][use.operand];
    if (!asked.isSplit() || (target && asked != *target))
      others.push_back(use);
    else
      target = asked;
  }
  return target;
}

/// Splits the result of `op` if it is replicated and all its uses slice it in the same way.
void AxisSolver::sinkInto(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  if (graphOp.results.size() != 1)
    return;
  ValueIndex value = graphOp.results.front();
  llvm::SmallVector<Use> others;
  std::optional<State> target = slicedTo(value, others);
  if (isFixed(value) || !plan.values[value].isReplicated() || !target || !others.empty())
    return;
  if (!fitsOthers(value, *target))
    return;
  const State &computed = plan.computes[op].front();
  if (computed.isPartial()) {
    plan.values[value] = *target;
    return;
  }
  if (!computed.isReplicated())
    return;
  std::optional<Candidate> split = splitByResult(op, 0, *target);
  if (!split || cost(op, *split) > cost(op, makeWhole(op)))
    return;
  apply(op, *split);
  plan.values[value] = *target;
}

void AxisSolver::sweepBack() {
  for (OpIndex op = static_cast<OpIndex>(graph.ops.size()) - 1; op >= 0; --op)
    sinkInto(op);
}

/// Annotates replicated values that some uses slice in the same way, if the other uses would pay little. Returns true
/// if there was any. Skips values derived from constants and scalars alone: every use takes its part for free, and
/// unrelated uses that share one, such as the updates of biases of one length, must not affect each other.
bool AxisSolver::annotateSliced() {
  bool any = false;
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value) {
    llvm::SmallVector<Use> others;
    std::optional<State> target = slicedTo(value, others);
    if (isFixed(value) || derived[value] || !plan.values[value].isReplicated() || !target || others.empty() ||
        !fitsOthers(value, *target))
      continue;
    const GraphValue &entry = graph.values[value];
    bool reduced = plan.computes[entry.def][entry.result].isPartial();
    double limit = bytes[value] * (n - 1) / (4.0 * n) / (reduced ? 2 : 1);
    plan.values[value] = *target;
    double paid = 0;
    for (const Use &use : others) {
      double chosen = 0;
      if (graph.ops[use.op].sink)
        chosen = convertBytes(bytes[value], *target, plan.operands[use.op][use.operand]);
      else
        choose(use.op, &chosen);
      paid += chosen;
      if (paid >= limit)
        break;
    }
    plan.values[value] = State::replicated();
    if (paid >= limit)
      continue;
    given[value] = *target;
    any = true;
  }
  return any;
}

//===----------------------------------------------------------------------===//
// Stored values and gathered values
//===----------------------------------------------------------------------===//

/// Propagates the wanted state of the result of an elementwise `op` to the operands that would need a conversion. False
/// if converting them costs more than converting the result.
bool AxisSolver::wantBefore(OpIndex op, const State &target, double limit,
                            llvm::MutableArrayRef<std::optional<State>> wanted) const {
  const GraphOp &graphOp = graph.ops[op];
  // A partial value is never reduced before a marked operation.
  if (!isElementwise(graphOp.rule) || graphOp.defersReduction)
    return false;
  llvm::SmallSetVector<ValueIndex, 4> moved;
  for (ValueIndex operand : graphOp.operands)
    if (convertBytes(bytes[operand], forward[operand], target) > 0)
      moved.insert(operand);
  double paid = 0;
  for (ValueIndex operand : moved) {
    if (graph.source[operand] || graph.pinned[operand] || (wanted[operand] && *wanted[operand] != target))
      return false;
    paid += convertCost(operand, forward[operand], target);
  }
  if (moved.empty() || paid > limit)
    return false;
  for (ValueIndex operand : moved)
    wanted[operand] = target;
  return true;
}

/// A carried value that starts replicated, such as zeros, and is passed on split is split from the start, for free.
bool AxisSolver::annotateCarried() {
  bool found = false;
  for (const GraphOp &op : graph.ops) {
    if (!op.handsOn)
      continue;
    ValueIndex carried = op.operands[1];
    const State &next = made[carried];
    if (given[carried] || !plan.values[carried].isReplicated() || !next.isSplit() || !fitsOthers(carried, next))
      continue;
    given[carried] = next;
    found = true;
  }
  return found;
}

/// Annotates values that lead to an assignment through elementwise operations with the variable's storage placement, at
/// the narrowest place: at the gradient, rather than at each moment and parameter computed from it.
bool AxisSolver::annotateStored() {
  bool any = false;
  llvm::SmallVector<std::optional<State>, 0> wanted(graph.values.size());
  for (OpIndex op = static_cast<OpIndex>(graph.ops.size()) - 1; op >= 0; --op) {
    const GraphOp &graphOp = graph.ops[op];
    if (auto stored = graph.stored(op, axis)) {
      wanted[graphOp.operands.front()] = *stored;
      continue;
    }
    if (graphOp.results.size() != 1)
      continue;
    ValueIndex value = graphOp.results.front();
    if (!wanted[value] || isFixed(value))
      continue;
    double paid = convertCost(value, forward[value], *wanted[value]);
    if (paid == 0 || wantBefore(op, *wanted[value], paid, wanted))
      continue;
    if (fitsOthers(value, *wanted[value])) {
      given[value] = *wanted[value];
      any = true;
    }
  }
  return any;
}

/// True if `use` is elementwise on a split value and its result is gathered or reduced right after.
bool AxisSolver::paysAfter(const Use &use) const {
  const GraphOp &user = graph.ops[use.op];
  if (user.results.size() != 1 || !isElementwise(user.rule) || graph.values[user.results.front()].uses.size() != 1)
    return false;
  ValueIndex value = user.results.front();
  const Use &next = graph.values[value].uses.front();
  if (!plan.values[value].isSplit())
    return false;
  return plan.operands[next.op][next.operand].isReplicated() ||
         llvm::any_of(plan.computes[next.op], [](const State &state) { return state.isPartial(); });
}

/// If the results of two elementwise uses of a value are converted right after, the value may as well be gathered once:
/// offers it replicated.
bool AxisSolver::offerGathered() {
  bool any = false;
  for (auto [value, entry] : llvm::enumerate(graph.values)) {
    if (!forward[value].isSplit() || graph.pinned[value] || llvm::is_contained(offered[value], State::replicated()) ||
        llvm::count_if(entry.uses, [&](const Use &use) { return paysAfter(use); }) < 2)
      continue;
    offered[value].push_back(State::replicated());
    any = true;
  }
  return any;
}

/// The traffic of the plan: one conversion of each value for every placement in which it is read, and one at its
/// definition if it is reduced there.
double AxisSolver::countBytes() const {
  double total = 0;
  for (auto [value, entry] : llvm::enumerate(graph.values)) {
    const State &kept = plan.values[value];
    if (entry.def >= 0)
      total += convertCost(value, plan.computes[entry.def][entry.result], kept);
    llvm::SmallVector<State, 2> seen{kept};
    for (const Use &use : entry.uses) {
      const State &target = plan.operands[use.op][use.operand];
      if (llvm::is_contained(seen, target))
        continue;
      seen.push_back(target);
      total += convertCost(value, kept, target);
    }
  }
  return total;
}
