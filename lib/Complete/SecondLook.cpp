//===- SecondLook.cpp - second look at the plan of an axis ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward sweep decides an operation by its operands. Here the plan is read from its end: a value that most uses
// slice is kept in parts; a value on the way to a variable is converted to the storage placement where it is
// narrowest; a value is gathered once if several elementwise users are gathered right after; the parts of a value are
// regrouped where a use would exchange dimensions; and sums that are reduced one by one only to meet are added in
// parts. All are annotations for another sweep.
//
//===----------------------------------------------------------------------===//

#include "SecondLook.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

/// True if all operands and the result of `rule` have the same dimensions, with one factor each.
static bool isElementwise(const ShardingRule &rule) {
  if (rule.results.size() != 1)
    return false;
  auto same = [&](const TensorRule &tensor) {
    const auto &dims = rule.results.front().dims;
    if (tensor.dims.size() != dims.size())
      return false;
    for (auto [mine, theirs] : llvm::zip(tensor.dims, dims))
      if (mine.size() != 1 || theirs.size() != 1 || mine.front().factor != theirs.front().factor ||
          mine.front().size != theirs.front().size)
        return false;
    return true;
  };
  return llvm::all_of(rule.operands, same);
}

bool complete::annotateCarried(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes) {
  bool found = false;
  for (const GraphOp &op : problem.graph.ops) {
    if (!op.handsOn)
      continue;
    ValueIndex carried = op.operands[1];
    const State &next = sweep.made[carried];
    if (notes.given[carried] || !sweep.plan.values[carried].isReplicated() || !next.isSplit() ||
        !problem.fitsOthers(carried, next))
      continue;
    notes.given[carried] = next;
    found = true;
  }
  return found;
}

bool complete::annotateSliced(const AxisProblem &problem, AxisSweep &sweep, Annotations &notes) {
  bool any = false;
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(problem.graph.values.size()); ++value) {
    llvm::SmallVector<Use> others;
    std::optional<State> target = sweep.slicedTo(value, others);
    if (sweep.isFixed(value) || problem.derived[value] || !sweep.plan.values[value].isReplicated() || !target ||
        others.empty() || !problem.fitsOthers(value, *target))
      continue;
    const GraphValue &entry = problem.graph.values[value];
    bool reduced = sweep.plan.computes[entry.def][entry.result].isPartial();
    double limit = problem.bytes[value] * (problem.n - 1) / (4.0 * problem.n) / (reduced ? 2 : 1);
    sweep.plan.values[value] = *target;
    double paid = 0;
    for (const Use &use : others) {
      paid += problem.graph.ops[use.op].sink
                  ? problem.convertBytes(value, *target, sweep.plan.operands[use.op][use.operand])
                  : sweep.getBestCost(use.op);
      if (paid >= limit)
        break;
    }
    sweep.plan.values[value] = State::replicated();
    if (paid >= limit)
      continue;
    notes.given[value] = *target;
    any = true;
  }
  return any;
}

/// Propagates the wanted state of the result of an elementwise `op` to the operands that would need a conversion. False
/// if converting them costs more than converting the result.
static bool wantBefore(const AxisProblem &problem, const AxisSweep &sweep, OpIndex op, const State &target,
                       double limit, llvm::MutableArrayRef<std::optional<State>> wanted) {
  const GraphOp &graphOp = problem.graph.ops[op];
  // A partial value is never reduced before a marked operation.
  if (!isElementwise(graphOp.rule) || graphOp.defersReduction)
    return false;
  llvm::SmallSetVector<ValueIndex, 4> moved;
  for (ValueIndex operand : graphOp.operands)
    if (problem.convertBytes(operand, sweep.forward[operand], target) > 0)
      moved.insert(operand);
  double paid = 0;
  for (ValueIndex operand : moved) {
    if (problem.graph.source[operand] || problem.graph.pinned[operand] ||
        (wanted[operand] && *wanted[operand] != target))
      return false;
    paid += problem.convertCost(operand, sweep.forward[operand], target);
  }
  if (moved.empty() || paid > limit)
    return false;
  for (ValueIndex operand : moved)
    wanted[operand] = target;
  return true;
}

bool complete::annotateStored(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes) {
  bool any = false;
  llvm::SmallVector<std::optional<State>, 0> wanted(problem.graph.values.size());
  for (OpIndex op = static_cast<OpIndex>(problem.graph.ops.size()) - 1; op >= 0; --op) {
    const GraphOp &graphOp = problem.graph.ops[op];
    if (auto stored = problem.graph.stored(op, problem.axis)) {
      wanted[graphOp.operands.front()] = *stored;
      continue;
    }
    if (graphOp.results.size() != 1)
      continue;
    ValueIndex value = graphOp.results.front();
    if (!wanted[value] || sweep.isFixed(value))
      continue;
    double paid = problem.convertCost(value, sweep.forward[value], *wanted[value]);
    if (paid == 0 || wantBefore(problem, sweep, op, *wanted[value], paid, wanted))
      continue;
    if (problem.fitsOthers(value, *wanted[value])) {
      notes.given[value] = *wanted[value];
      any = true;
    }
  }
  return any;
}

/// True if `use` is elementwise on a split value and its result is gathered or reduced right after.
static bool paysAfter(const AxisProblem &problem, const AxisSweep &sweep, const Use &use) {
  const GraphOp &user = problem.graph.ops[use.op];
  if (user.results.size() != 1 || !isElementwise(user.rule) ||
      problem.graph.values[user.results.front()].uses.size() != 1)
    return false;
  ValueIndex value = user.results.front();
  const Use &next = problem.graph.values[value].uses.front();
  if (!sweep.plan.values[value].isSplit())
    return false;
  return sweep.plan.operands[next.op][next.operand].isReplicated() ||
         llvm::any_of(sweep.plan.computes[next.op], [](const State &state) { return state.isPartial(); });
}

bool complete::offerGathered(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes) {
  bool any = false;
  for (auto [value, entry] : llvm::enumerate(problem.graph.values)) {
    if (!sweep.forward[value].isSplit() || problem.graph.pinned[value] ||
        llvm::is_contained(notes.offered[value], State::replicated()) ||
        llvm::count_if(entry.uses, [&](const Use &use) { return paysAfter(problem, sweep, use); }) < 2)
      continue;
    notes.offered[value].push_back(State::replicated());
    any = true;
  }
  return any;
}

/// A split of operand number `use.operand` along `dim`, other than `now`, in which `use.op` can be computed.
static std::optional<State> findRegrouped(const AxisProblem &problem, const Use &use, unsigned dim, const State &now) {
  for (const Candidate &candidate : problem.listSplits(use.op)) {
    const State &state = candidate.operands[use.operand];
    if (state.isSplit() && state.dim == dim && state != now)
      return state;
  }
  return std::nullopt;
}

bool complete::offerRegrouped(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes) {
  bool any = false;
  for (auto [value, entry] : llvm::enumerate(problem.graph.values)) {
    const State &now = sweep.forward[value];
    if (!now.isSplit() || problem.graph.pinned[value] || problem.graph.weight[value])
      continue;
    for (const Use &use : entry.uses) {
      const State &read = sweep.plan.operands[use.op][use.operand];
      if (!read.isSplit() || read.dim == now.dim)
        continue;
      std::optional<State> other = findRegrouped(problem, use, now.dim, now);
      if (!other || !problem.fitsOthers(value, *other) || llvm::is_contained(notes.offered[value], *other))
        continue;
      notes.offered[value].push_back(*other);
      any = true;
    }
  }
  return any;
}

/// A split of `value` into equal parts along its first dimension that has some; nothing if there is none.
static std::optional<State> findEqualSplit(const AxisProblem &problem, ValueIndex value) {
  for (auto [dim, size] : llvm::enumerate(problem.graph.values[value].shape))
    if (State split = State::split(dim, size, size / problem.n);
        size % problem.n == 0 && size > 0 && problem.fitsOthers(value, split))
      return split;
  return std::nullopt;
}

bool complete::annotateReduced(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes) {
  bool any = false;
  auto isReducedFor = [&](ValueIndex value) {
    const GraphValue &entry = problem.graph.values[value];
    return entry.def >= 0 && entry.uses.size() == 1 && !sweep.isFixed(value) &&
           sweep.plan.computes[entry.def][entry.result].isPartial() && sweep.plan.values[value].isReplicated();
  };
  for (const GraphOp &op : problem.graph.ops) {
    if (op.results.size() != 1 || !isElementwise(op.rule) || !sweep.plan.values[op.results.front()].isReplicated())
      continue;
    llvm::SmallVector<ValueIndex> reduced = llvm::filter_to_vector(op.operands, isReducedFor);
    std::optional<State> split = reduced.size() < 2 ? std::nullopt : findEqualSplit(problem, reduced.front());
    if (!split || !problem.fitsOthers(op.results.front(), *split) ||
        llvm::any_of(reduced, [&](ValueIndex value) { return !problem.fitsOthers(value, *split); }))
      continue;
    for (ValueIndex value : reduced)
      notes.given[value] = split;
    if (!sweep.isFixed(op.results.front()))
      notes.given[op.results.front()] = State::replicated();
    any = true;
  }
  return any;
}

bool complete::annotateGroups(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes) {
  bool any = false;
  for (const auto &[group, values] : problem.graph.groups) {
    const ValueIndex *leader = llvm::find_if(values, [&](ValueIndex value) { return notes.given[value].has_value(); });
    if (leader == values.end())
      leader = llvm::find_if(values, [&](ValueIndex value) { return sweep.plan.values[value].isSplit(); });
    State common = leader == values.end() ? State::replicated() : sweep.plan.values[*leader];
    for (ValueIndex value : values) {
      if (notes.given[value] || common.isPartial() || !problem.fitsOthers(value, common))
        continue;
      notes.given[value] = common;
      any = true;
    }
  }
  return any;
}

/// The sum of `price` over one conversion of each value for every placement in which it is read, and one at its
/// definition if it is reduced there.
static double sum(const AxisProblem &problem, const AxisPlan &plan,
                  double (AxisProblem::*price)(ValueIndex, const State &, const State &) const) {
  double total = 0;
  for (auto [value, entry] : llvm::enumerate(problem.graph.values)) {
    const State &kept = plan.values[value];
    if (entry.def >= 0)
      total += (problem.*price)(value, plan.computes[entry.def][entry.result], kept);
    llvm::SmallVector<State, 2> seen{kept};
    for (const Use &use : entry.uses) {
      const State &target = plan.operands[use.op][use.operand];
      if (llvm::is_contained(seen, target))
        continue;
      seen.push_back(target);
      total += (problem.*price)(value, kept, target);
    }
  }
  return total;
}

double complete::countCost(const AxisProblem &problem, const AxisPlan &plan) {
  return sum(problem, plan, &AxisProblem::convertCost);
}

double complete::countBytes(const AxisProblem &problem, const AxisPlan &plan) {
  return sum(problem, plan, &AxisProblem::convertBytes);
}
