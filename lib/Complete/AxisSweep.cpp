//===- AxisSweep.cpp - greedy sweeps over one mesh axis -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One sweep over the operations in the order constants, layout operations on weights, all others. Each operation takes
// the cheapest candidate: split a factor that one of its operands (or the given placement of a result) splits; pass
// partial operands, if it is linear or monotone in them; compute the whole; split another factor, which exchanges
// parts. Rules that make the plans good:
//
//  * An operation that reads a split weight splits that factor at any cost: weights never move.
//  * A partial value with one use stays partial; if its use refuses it, it is reduced at the cheapest place on the way
//    back, so that a sum is reduced before a broadcast and after addition to others. Gathers are placed likewise.
//  * A partial value with several uses is reduced where it is computed, to a split if a use needs it split. So is one
//    that its operation refuses, if a use of the result needs that.
//  * Operations marked `dist.defer_reduction` pass partial operands at any cost; the reduction comes after them.
//  * Among splits to which the graph gives different priorities the first one decides, whatever it costs.
//  * A state that anchored users will need anyway is free for all other users.
//
// A reverse sweep splits replicated values that all uses slice. Every operation is visited once in each
// direction.
//
//===----------------------------------------------------------------------===//

#include "AxisSweep.h"
#include "dialects/Dist/Dist.h"
#include <limits>

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

/// The longest chain of operations along which a conversion is moved backwards.
static constexpr int kMaxLength = 256;

AxisSweep::AxisSweep(const AxisProblem &problem, const Annotations &notes)
    : problem(problem), graph(problem.graph), notes(notes) {}

double AxisSweep::getBestCost(OpIndex op) {
  double best = 0;
  choose(op, &best);
  return best;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The additional cost of reading `value` in state `target`, given the conversions decided so far.
double AxisSweep::readCost(ValueIndex value, const State &target, int depth) {
  const State &from = plan.values[value];
  if (from == target || llvm::is_contained(available[value], target))
    return 0;
  if (from.isReplicated() || target.isPartial())
    return problem.convertCost(value, from, target);
  return cheapest(value, target, depth).cost;
}

double AxisSweep::cost(OpIndex op, const Candidate &candidate) {
  const GraphOp &graphOp = graph.ops[op];
  double total = 0;
  for (auto [operand, target] : llvm::zip(graphOp.operands, candidate.operands))
    total += readCost(operand, target);
  for (auto [result, state] : llvm::zip(graphOp.results, candidate.results)) {
    if (notes.given[result])
      total += problem.convertBytes(result, state, *notes.given[result]);
    else if (candidate.kind == Candidate::Kind::Split && state.isPartial() && !problem.dataAxis)
      total += problem.convertBytes(result, state, State::replicated());
  }
  return total;
}

/// True if a conversion of `value` may move to the operands of the operation that computes it: for a partial value that
/// passed the operation, or a split one with a single use.
bool AxisSweep::canConvertBefore(ValueIndex value) const {
  const GraphValue &entry = graph.values[value];
  if (entry.def < 0 || graph.ops[entry.def].results.size() != 1)
    return false;
  // Reduce over times before ranks: a sum over all slices is sent once.
  if (llvm::any_of(graph.ops[entry.def].operands, [&](ValueIndex operand) { return problem.isOwedInTime[operand]; }))
    return false;
  if (plan.values[value].isPartial())
    return kinds[entry.def] == Candidate::Kind::Partial && !graph.ops[entry.def].defersReduction;
  return kinds[entry.def] == Candidate::Kind::Split && entry.uses.size() == 1 && !notes.given[value] &&
         plan.computes[entry.def].front() == plan.values[value];
}

const AxisSweep::Place *AxisSweep::findPlace(ValueIndex value, const State &target) const {
  for (const Place &place : places[value])
    if (place.target == target)
      return &place;
  return nullptr;
}

AxisSweep::Place AxisSweep::cheapest(ValueIndex value, const State &target, int depth) {
  if (const Place *place = findPlace(value, target))
    return *place;
  Place best{target, problem.convertCost(value, plan.values[value], target), 0};
  OpIndex op = graph.values[value].def;
  if (depth < kMaxLength && canConvertBefore(value)) {
    std::optional<Candidate> moved = target.isSplit() ? problem.splitByResult(op, 0, target) : problem.makeWhole(op);
    if (moved) {
      double total = 0;
      int length = 0;
      for (auto [operand, state] : llvm::zip(graph.ops[op].operands, moved->operands)) {
        total += readCost(operand, state, depth + 1);
        if (const Place *place = findPlace(operand, state))
          length = std::max(length, place->length);
      }
      // Prefers to reduce a sum early in the chain at equal cost, but to gather a split value late.
      if (length < kMaxLength && (plan.values[value].isPartial() ? total <= best.cost : total < best.cost))
        best = {target, total, length + 1};
    }
  }
  places[value].push_back(best);
  return best;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

std::optional<Candidate> AxisSweep::makePartial(OpIndex op, const PartialRule &partial) const {
  const GraphOp &graphOp = graph.ops[op];
  Candidate candidate{Candidate::Kind::Partial, {}, {}};
  candidate.operands.assign(graphOp.operands.size(), State::replicated());
  bool any = false;
  for (unsigned operand : partial.operands) {
    any |= plan.values[graphOp.operands[operand]] == State::partial(partial.kind);
    candidate.operands[operand] = State::partial(partial.kind);
  }
  candidate.results.assign(graphOp.results.size(), State::partial(partial.kind));
  if (!any || !problem.fits(candidate, op))
    return std::nullopt;
  return candidate;
}

std::optional<Candidate> AxisSweep::splitByOperand(OpIndex op, unsigned operand) const {
  return problem.splitByOperand(op, operand, plan.values[graph.ops[op].operands[operand]]);
}

/// The first priority of a split that an operand or the given placement of a result suggests.
int64_t AxisSweep::getFirstPriority(OpIndex op) const {
  if (!graph.hasPriorities(problem.axis))
    return 0;
  int64_t first = std::numeric_limits<int64_t>::max();
  for (auto [index, operand] : llvm::enumerate(graph.ops[op].operands))
    if (placed[operand] && splitByOperand(op, index))
      first = std::min(first, priorities[operand]);
  for (auto [index, result] : llvm::enumerate(graph.ops[op].results))
    if (graph.given[problem.axis][result] && problem.splitByResult(op, index, *graph.given[problem.axis][result]))
      first = std::min(first, graph.getPriority(problem.axis, result));
  return first;
}

/// The first priority of the operands that are split as `candidate` reads them.
int64_t AxisSweep::getPriority(OpIndex op, const Candidate &candidate) const {
  std::optional<int64_t> first;
  for (auto [operand, state] : llvm::zip(graph.ops[op].operands, candidate.operands))
    if (state.isSplit() && plan.values[operand] == state)
      first = std::min(first.value_or(priorities[operand]), priorities[operand]);
  return first.value_or(0);
}

std::optional<Candidate> AxisSweep::anchor(OpIndex op) const {
  int64_t first = getFirstPriority(op);
  for (auto [index, operand] : llvm::enumerate(graph.ops[op].operands))
    if (graph.weight[operand] && placed[operand] && priorities[operand] <= first)
      if (auto candidate = splitByOperand(op, index))
        return candidate;
  return std::nullopt;
}

/// The candidate in which a marked operation passes its partial operands.
std::optional<Candidate> AxisSweep::passPartials(OpIndex op) const {
  if (graph.ops[op].defersReduction)
    for (const PartialRule &partial : graph.ops[op].rule.partials)
      if (auto candidate = makePartial(op, partial))
        return candidate;
  return std::nullopt;
}

/// Splits of factors that no operand splits: they exchange parts, where following an operand would leave a sum to
/// reduce or is impossible.
void AxisSweep::addExchanges(OpIndex op, llvm::SmallVectorImpl<Candidate> &candidates) const {
  const GraphOp &graphOp = graph.ops[op];
  auto isSplit = [&](ValueIndex operand) { return plan.values[operand].isSplit(); };
  auto isPartial = [&](ValueIndex operand) { return plan.values[operand].isPartial(); };
  if (llvm::none_of(graphOp.operands, isSplit) || llvm::any_of(graphOp.operands, isPartial))
    return;
  candidates.append(problem.listSplits(op));
}

/// The state to which a partial value with several uses is reduced, or that of a value for which sums are: split if a
/// use needs it, given its other operands and results.
State AxisSweep::reduceTarget(ValueIndex value) const {
  for (const Use &use : graph.values[value].uses) {
    const GraphOp &user = graph.ops[use.op];
    auto needs = [&](const std::optional<Candidate> &candidate) {
      return candidate && candidate->operands[use.operand].isSplit();
    };
    for (auto [index, operand] : llvm::enumerate(user.operands))
      if (operand != value && placed[operand])
        if (auto candidate = splitByOperand(use.op, index); needs(candidate))
          return candidate->operands[use.operand];
    for (auto [index, result] : llvm::enumerate(user.results))
      if (notes.given[result])
        if (auto candidate = problem.splitByResult(use.op, index, *notes.given[result]); needs(candidate))
          return candidate->operands[use.operand];
  }
  return State::replicated();
}

/// If `op` reduces sums and its result is wanted split, the candidate that reduces them to the parts.
std::optional<Candidate> AxisSweep::reduceSplit(OpIndex op) const {
  const GraphOp &graphOp = graph.ops[op];
  auto isPartial = [&](ValueIndex operand) { return plan.values[operand].isPartial(); };
  if (graphOp.results.size() != 1 || notes.given[graphOp.results.front()] || llvm::none_of(graphOp.operands, isPartial))
    return std::nullopt;
  State target = reduceTarget(graphOp.results.front());
  if (!target.isSplit() || !problem.fitsOthers(graphOp.results.front(), target))
    return std::nullopt;
  return problem.splitByResult(op, 0, target);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

Candidate AxisSweep::choose(OpIndex op, double *chosenCost) {
  const GraphOp &graphOp = graph.ops[op];
  if (auto anchored = anchor(op)) {
    if (chosenCost)
      *chosenCost = cost(op, *anchored);
    return *anchored;
  }
  if (auto passing = passPartials(op)) {
    if (chosenCost)
      *chosenCost = cost(op, *passing);
    return *passing;
  }
  // Ties go to the first candidate: splits, then partial values, then those reduced to parts, then the whole, then
  // other splits.
  llvm::SmallVector<Candidate, 4> candidates;
  int64_t first = getFirstPriority(op);
  bool isContested = false;
  auto add = [&](std::optional<Candidate> candidate, int64_t priority) {
    isContested |= candidate && priority > first;
    if (candidate && priority <= first)
      candidates.push_back(std::move(*candidate));
  };
  for (auto [index, result] : llvm::enumerate(graphOp.results))
    if (notes.given[result])
      add(problem.splitByResult(op, index, *notes.given[result]), graph.getPriority(problem.axis, result));
  for (auto [index, operand] : llvm::enumerate(graphOp.operands))
    add(splitByOperand(op, index), priorities[operand]);
  if (!isContested) {
    for (const PartialRule &partial : graphOp.rule.partials)
      if (auto candidate = makePartial(op, partial))
        candidates.push_back(*candidate);
    if (auto candidate = reduceSplit(op))
      candidates.push_back(*candidate);
    candidates.push_back(problem.makeWhole(op));
    addExchanges(op, candidates);
  }
  size_t best = 0;
  double bestCost = 0;
  for (size_t index = 0; index < candidates.size(); ++index) {
    double total = cost(op, candidates[index]);
    if (index == 0 || total < bestCost) {
      best = index;
      bestCost = total;
    }
  }
  if (chosenCost)
    *chosenCost = bestCost;
  return candidates[best];
}

/// Converts `value` at the cheapest place on its way back; to replicated if other axes conflict with `wanted`.
void AxisSweep::settle(ValueIndex value, const State &wanted) {
  State target = problem.fitsOthers(value, wanted) ? wanted : State::replicated();
  Place place = cheapest(value, target);
  if (place.length > 0) {
    OpIndex op = graph.values[value].def;
    Candidate moved = target.isSplit() ? *problem.splitByResult(op, 0, target) : problem.makeWhole(op);
    apply(op, moved);
  }
  plan.values[value] = target;
}

void AxisSweep::require(OpIndex op, unsigned operand, const State &target) {
  ValueIndex value = graph.ops[op].operands[operand];
  plan.operands[op][operand] = target;
  const State &kept = plan.values[value];
  // A sum that the graph keeps unreduced is reduced where it is read.
  bool isKeptPartial = kept.isPartial() && notes.given[value] == kept;
  if (kept == target || kept.isReplicated() || target.isPartial() || graph.pinned[value] || isKeptPartial)
    return;
  if (kept.isPartial() || cheapest(value, target).length > 0)
    settle(value, target);
  else if (!llvm::is_contained(available[value], target))
    available[value].push_back(target);
}

void AxisSweep::apply(OpIndex op, Candidate candidate) {
  kinds[op] = candidate.kind;
  plan.computes[op] = candidate.results;
  plan.operands[op].resize(candidate.operands.size());
  for (unsigned operand = 0; operand < candidate.operands.size(); ++operand)
    require(op, operand, candidate.operands[operand]);
}

void AxisSweep::addAvailable(ValueIndex value) {
  for (const Use &use : graph.values[value].uses)
    if (auto candidate = anchor(use.op)) {
      const State &asked = candidate->operands[use.operand];
      if (asked != plan.values[value] && !llvm::is_contained(available[value], asked))
        available[value].push_back(asked);
    }
}

/// True if a partial value passes all of `uses`.
bool AxisSweep::allPass(llvm::ArrayRef<Use> uses) const {
  return llvm::all_of(uses, [&](const Use &use) { return graph.ops[use.op].defersReduction; });
}

/// Decides the state in which a newly computed value is kept. `priority` is that of the split of its operation.
void AxisSweep::keep(ValueIndex value, int64_t priority) {
  const GraphValue &entry = graph.values[value];
  priorities[value] = graph.given[problem.axis][value] ? graph.getPriority(problem.axis, value) : priority;
  plan.values[value] = plan.computes[entry.def][entry.result];
  placed[value] = true;
  bool partial = plan.values[value].isPartial();
  if (notes.given[value] && partial)
    settle(value, *notes.given[value]);
  else if (notes.given[value])
    plan.values[value] = *notes.given[value];
  else if (partial && entry.uses.size() > 1 && !allPass(entry.uses))
    settle(value, reduceTarget(value));
  if (plan.values[value].isSplit() && !notes.given[value] && !problem.fitsOthers(value, plan.values[value]))
    plan.values[value] = State::replicated();
  if (!plan.values[value].isPartial())
    addAvailable(value);
}

void AxisSweep::visitSink(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  plan.operands[op].resize(graphOp.operands.size());
  for (auto [index, operand] : llvm::enumerate(graphOp.operands)) {
    bool reduces = plan.values[operand].isPartial() && !graphOp.keepsPartial;
    State target = reduces ? State::replicated() : plan.values[operand];
    if (auto stored = graph.stored(op, problem.axis))
      target = *stored;
    require(op, index, target);
  }
}

/// An accumulator without a placement keeps the state of its addend: addition is then local, and a sum that is reduced
/// once is reduced for all times. A split of the parameter splits the sum, which would be larger otherwise; storage
/// that is split over axes of the batch does not count.
void AxisSweep::visitAccumulate(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  ValueIndex before = graphOp.operands[0], addend = graphOp.operands[1], sum = graphOp.results.front();
  State state = plan.values[addend];
  if (notes.given[before])
    state = *notes.given[before];
  else if (!problem.dataAxis && !graphOp.like.empty() && graphOp.like[problem.axis].isSplit() &&
           problem.fitsOthers(addend, graphOp.like[problem.axis]))
    state = graphOp.like[problem.axis];
  else if (state.isPartial() && state.reduction != ReduceKind::Sum)
    state = State::replicated();
  kinds[op] = Candidate::Kind::Whole;
  plan.operands[op].resize(2);
  require(op, 1, state);
  plan.operands[op][0] = plan.values[before] = plan.values[sum] = state;
  plan.computes[graph.values[before].def] = plan.computes[op] = {state};
  placed[before] = placed[sum] = true;
}

/// The value passed to the next iteration takes the placement of the carried value.
void AxisSweep::visitHandOn(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  State state = plan.values[graphOp.operands[1]];
  // The conversion changes the value's own placement, so its natural one is recorded here.
  made[graphOp.operands[1]] = plan.values[graphOp.operands[0]];
  kinds[op] = Candidate::Kind::Whole;
  plan.operands[op] = {state, state};
  plan.computes[op] = {state};
  require(op, 0, state);
  keep(graphOp.results.front());
}

void AxisSweep::visit(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  if (graphOp.sink)
    return visitSink(op);
  if (graphOp.accumulates)
    return visitAccumulate(op);
  if (graphOp.handsOn)
    return visitHandOn(op);
  int64_t priority = 0;
  if (!graphOp.results.empty() && graph.source[graphOp.results.front()]) {
    // A read has the placement of its variable.
    ValueIndex value = graphOp.results.front();
    if (!notes.given[value])
      return;
    plan.computes[op] = {*notes.given[value]};
    kinds[op] = Candidate::Kind::Whole;
  } else {
    Candidate candidate = choose(op);
    priority = getPriority(op, candidate);
    apply(op, std::move(candidate));
  }
  for (ValueIndex result : graphOp.results)
    keep(result, priority);
  if (graphOp.carries) {
    // The initial placement of a carried value is its placement in all iterations.
    kinds[op] = Candidate::Kind::Whole;
    plan.values[graphOp.results.front()] = plan.computes[op].front();
  }
}

//===----------------------------------------------------------------------===//
// Reverse
//===----------------------------------------------------------------------===//

std::optional<State> AxisSweep::slicedTo(ValueIndex value, llvm::SmallVectorImpl<Use> &others) const {
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
void AxisSweep::sinkInto(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  if (graphOp.results.size() != 1)
    return;
  ValueIndex value = graphOp.results.front();
  llvm::SmallVector<Use> others;
  std::optional<State> target = slicedTo(value, others);
  if (isFixed(value) || !plan.values[value].isReplicated() || !target || !others.empty())
    return;
  if (!problem.fitsOthers(value, *target))
    return;
  const State &computed = plan.computes[op].front();
  if (computed.isPartial()) {
    plan.values[value] = *target;
    return;
  }
  if (!computed.isReplicated())
    return;
  std::optional<Candidate> split = problem.splitByResult(op, 0, *target);
  if (!split || cost(op, *split) > cost(op, problem.makeWhole(op)))
    return;
  apply(op, *split);
  plan.values[value] = *target;
}

void AxisSweep::sweepBack() {
  for (OpIndex op = static_cast<OpIndex>(graph.ops.size()) - 1; op >= 0; --op)
    sinkInto(op);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void AxisSweep::run() {
  plan = AxisPlan();
  plan.operands.resize(graph.ops.size());
  plan.computes.resize(graph.ops.size());
  plan.values.resize(graph.values.size());
  kinds.assign(graph.ops.size(), Candidate::Kind::Whole);
  placed.assign(graph.values.size(), false);
  priorities.assign(graph.values.size(), 0);
  available = notes.offered;
  places.assign(graph.values.size(), {});
  made.assign(graph.values.size(), {});
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value)
    if (graph.values[value].def < 0) {
      plan.values[value] = *notes.given[value];
      placed[value] = true;
      priorities[value] = graph.getPriority(problem.axis, value);
    }
  for (OpIndex op : llvm::ArrayRef(problem.order).take_front(problem.numEarly))
    visit(op);
  // Weights are placed, so the states that they require of the arguments are known.
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value)
    if (graph.values[value].def < 0)
      addAvailable(value);
  for (OpIndex op : llvm::ArrayRef(problem.order).drop_front(problem.numEarly))
    visit(op);
  forward = plan.values;
  sweepBack();
}
