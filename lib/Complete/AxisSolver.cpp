//===- AxisSolver.cpp - greedy sweeps over one mesh axis ------------------===//
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
//  * A partial value with several uses is reduced where it is computed, to a split if a use needs it split.
//  * Operations marked `dist.defer_reduction` pass partial operands at any cost; the reduction comes after them.
//  * A state that anchored users will need anyway is free for all other users.
//
// A reverse sweep splits replicated values that all uses slice. Then SecondLook.cpp annotates properties that only the
// whole plan shows, and everything is decided once more. Every operation is visited a fixed number of times.
//
//===----------------------------------------------------------------------===//

#include "AxisSolver.h"
#include "dialects/Dist/Collectives.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

namespace {
/// Factors on the cost of moving a weight, and of gathering the batch.
constexpr double kWeightPenalty = 1e6;
constexpr double kDataPenalty = 1e3;
/// Factor on traffic inside loops, so that equal traffic is placed outside.
constexpr double kIterationPenalty = 1.001;
constexpr double kImpossible = 1e30;
/// The longest chain of operations along which a conversion is moved backwards.
constexpr int kMaxLength = 256;
/// Bound on the rounds that re-place values carried by loops.
constexpr int kMaxCarried = 4;
} // namespace

AxisSolver::AxisSolver(const Graph &graph, const Mesh &mesh, Axis axis, bool dataAxis,
                       llvm::ArrayRef<std::pair<Axis, AxisPlan>> done)
    : graph(graph), n(mesh.getSize(axis)), axis(axis), dataAxis(dataAxis), done(done), given(graph.given[axis]),
      offered(graph.values.size()), isOwedInTime(graph.values.size(), false) {
  for (size_t value = 0; value < graph.values.size(); ++value) {
    double size = graph.values[value].bytes;
    // At equal bytes the place after the loop starts fewer collectives.
    if (graph.values[value].iterations > 1)
      size *= kIterationPenalty * graph.values[value].iterations;
    for (const auto &[other, decided] : done) {
      const State &state = decided.values[value];
      // Every slice along a time axis is sent, and a partial sum over times is sent once per time.
      if (state.isSplit() && !mesh.isTime(other))
        size /= mesh.getSize(other);
      if (state.isPartial() && mesh.isTime(other))
        size *= mesh.getSize(other);
      isOwedInTime[value] |= state.isPartial() && mesh.isTime(other);
    }
    bytes.push_back(size);
  }
  // Constants, then layouts of weights, then the rest; each in program order, so that definitions precede uses.
  llvm::SmallVector<int> rank(graph.ops.size());
  constant.assign(graph.values.size(), false);
  derived.assign(graph.values.size(), false);
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    bool computes = !op.sink && !isa<net::LoopOp>(op.op);
    bool isConstant = computes && llvm::all_of(op.operands, [&](ValueIndex operand) { return constant[operand]; });
    bool isSource = !op.results.empty() && graph.source[op.results.front()];
    bool isWeight = !op.results.empty() && graph.weight[op.results.front()];
    bool isDerived = computes && !isSource && llvm::all_of(op.operands, [&](ValueIndex operand) {
                       return derived[operand] || graph.values[operand].shape.empty();
                     });
    for (ValueIndex result : op.results) {
      constant[result] = isConstant && !isSource;
      derived[result] = isDerived && !graph.pinned[result];
    }
    rank[index] = isSource || isWeight ? 1 : isConstant ? 0 : 2;
  }
  for (int phase = 0; phase < 3; ++phase) {
    if (phase == 2)
      numEarly = order.size();
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (rank[op] == phase)
        order.push_back(op);
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

double AxisSolver::convertBytes(double size, const State &from, const State &to) const {
  ++numSteps;
  if (from == to || from.isReplicated())
    return 0;
  if (to.isPartial())
    return kImpossible;
  if (from.isSplit())
    return to.isSplit() ? getSentBytes(CollectiveKind::AllToAll, size / static_cast<double>(n), n)
                        : getSentBytes(CollectiveKind::AllGather, size, n);
  return getSentBytes(to.isSplit() ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, size, n);
}

/// The cost of one conversion: its bytes, or more if it should be avoided.
double AxisSolver::convertCost(ValueIndex value, const State &from, const State &to) const {
  double paid = convertBytes(bytes[value], from, to);
  if (from.isSplit())
    paid *= graph.weight[value] ? kWeightPenalty : dataAxis ? kDataPenalty : 1;
  return paid;
}

/// The additional cost of reading `value` in state `target`, given the conversions decided so far.
double AxisSolver::readCost(ValueIndex value, const State &target, int depth) {
  const State &from = plan.values[value];
  if (from == target || llvm::is_contained(available[value], target))
    return 0;
  if (from.isReplicated() || target.isPartial())
    return convertCost(value, from, target);
  return cheapest(value, target, depth).cost;
}

double AxisSolver::cost(OpIndex op, const Candidate &candidate) {
  const GraphOp &graphOp = graph.ops[op];
  double total = 0;
  for (auto [operand, target] : llvm::zip(graphOp.operands, candidate.operands))
    total += readCost(operand, target);
  for (auto [result, state] : llvm::zip(graphOp.results, candidate.results)) {
    if (given[result])
      total += convertBytes(bytes[result], state, *given[result]);
    else if (candidate.kind == Candidate::Kind::Split && state.isPartial() && !dataAxis)
      total += convertBytes(bytes[result], state, State::replicated());
  }
  return total;
}

/// True if a conversion of `value` may move to the operands of the operation that computes it: for a partial value that
/// passed the operation, or a split one with a single use.
bool AxisSolver::canConvertBefore(ValueIndex value) const {
  const GraphValue &entry = graph.values[value];
  if (entry.def < 0 || graph.ops[entry.def].results.size() != 1)
    return false;
  // Reduce over times before ranks: a sum over all slices is sent once.
  if (llvm::any_of(graph.ops[entry.def].operands, [&](ValueIndex operand) { return isOwedInTime[operand]; }))
    return false;
  if (plan.values[value].isPartial())
    return kinds[entry.def] == Candidate::Kind::Partial && !graph.ops[entry.def].defersReduction;
  return kinds[entry.def] == Candidate::Kind::Split && entry.uses.size() == 1 && !given[value] &&
         plan.computes[entry.def].front() == plan.values[value];
}

const AxisSolver::Place *AxisSolver::findPlace(ValueIndex value, const State &target) const {
  for (const Place &place : places[value])
    if (place.target == target)
      return &place;
  return nullptr;
}

AxisSolver::Place AxisSolver::cheapest(ValueIndex value, const State &target, int depth) {
  if (const Place *place = findPlace(value, target))
    return *place;
  Place best{target, convertCost(value, plan.values[value], target), 0};
  OpIndex op = graph.values[value].def;
  if (depth < kMaxLength && canConvertBefore(value)) {
    std::optional<Candidate> moved = target.isSplit() ? splitByResult(op, 0, target) : makeWhole(op);
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
// Forward
//===----------------------------------------------------------------------===//

Candidate AxisSolver::choose(OpIndex op, double *chosenCost) {
  const GraphOp &graphOp = graph.ops[op];
  if (auto anchored = anchor(op)) {
    if (chosenCost)
      *chosenCost = cost(op, *anchored);
    return *anchored;
  }
  if (auto travelling = travel(op)) {
    if (chosenCost)
      *chosenCost = cost(op, *travelling);
    return *travelling;
  }
  // Ties go to the first candidate: splits, then partial values, then the whole, then other splits.
  llvm::SmallVector<Candidate, 4> candidates;
  for (auto [index, result] : llvm::enumerate(graphOp.results))
    if (given[result])
      if (auto candidate = splitByResult(op, index, *given[result]))
        candidates.push_back(*candidate);
  for (unsigned operand = 0; operand < graphOp.operands.size(); ++operand)
    if (auto candidate = splitByOperand(op, operand))
      candidates.push_back(*candidate);
  for (const PartialRule &partial : graphOp.rule.partials)
    if (auto candidate = makePartial(op, partial))
      candidates.push_back(*candidate);
  candidates.push_back(makeWhole(op));
  addExchanges(op, candidates);
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

/// The state to which a partial value with several uses is reduced: split if a use needs it, given its other operands
/// and results.
State AxisSolver::reduceTarget(ValueIndex value) const {
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
      if (given[result])
        if (auto candidate = splitByResult(use.op, index, *given[result]); needs(candidate))
          return candidate->operands[use.operand];
  }
  return State::replicated();
}

/// Converts `value` at the cheapest place on its way back; to replicated if other axes conflict with `wanted`.
void AxisSolver::settle(ValueIndex value, const State &wanted) {
  State target = fitsOthers(value, wanted) ? wanted : State::replicated();
  Place place = cheapest(value, target);
  if (place.length > 0) {
    OpIndex op = graph.values[value].def;
    Candidate moved = target.isSplit() ? *splitByResult(op, 0, target) : makeWhole(op);
    apply(op, moved);
  }
  plan.values[value] = target;
}

void AxisSolver::require(OpIndex op, unsigned operand, const State &target) {
  ValueIndex value = graph.ops[op].operands[operand];
  plan.operands[op][operand] = target;
  const State &kept = plan.values[value];
  if (kept == target || kept.isReplicated() || target.isPartial() || graph.pinned[value])
    return;
  if (kept.isPartial() || cheapest(value, target).length > 0)
    settle(value, target);
  else if (!llvm::is_contained(available[value], target))
    available[value].push_back(target);
}

void AxisSolver::apply(OpIndex op, Candidate candidate) {
  kinds[op] = candidate.kind;
  plan.computes[op] = candidate.results;
  plan.operands[op].resize(candidate.operands.size());
  for (unsigned operand = 0; operand < candidate.operands.size(); ++operand)
    require(op, operand, candidate.operands[operand]);
}

void AxisSolver::addAvailable(ValueIndex value) {
  for (const Use &use : graph.values[value].uses)
    if (auto candidate = anchor(use.op)) {
      const State &asked = candidate->operands[use.operand];
      if (asked != plan.values[value] && !llvm::is_contained(available[value], asked))
        available[value].push_back(asked);
    }
}

/// True if a partial value passes all of `uses`.
bool AxisSolver::allTravel(llvm::ArrayRef<Use> uses) const {
  return llvm::all_of(uses, [&](const Use &use) { return graph.ops[use.op].defersReduction; });
}

/// Decides the state in which a newly computed value is kept.
void AxisSolver::keep(ValueIndex value) {
  const GraphValue &entry = graph.values[value];
  plan.values[value] = plan.computes[entry.def][entry.result];
  placed[value] = true;
  bool partial = plan.values[value].isPartial();
  if (given[value] && partial)
    settle(value, *given[value]);
  else if (given[value])
    plan.values[value] = *given[value];
  else if (partial && entry.uses.size() > 1 && !allTravel(entry.uses))
    settle(value, reduceTarget(value));
  if (plan.values[value].isSplit() && !given[value] && !fitsOthers(value, plan.values[value]))
    plan.values[value] = State::replicated();
  if (!plan.values[value].isPartial())
    addAvailable(value);
}

void AxisSolver::visitSink(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  plan.operands[op].resize(graphOp.operands.size());
  for (auto [index, operand] : llvm::enumerate(graphOp.operands)) {
    bool reduces = plan.values[operand].isPartial() && !graphOp.keepsPartial;
    State target = reduces ? State::replicated() : plan.values[operand];
    if (auto stored = graph.stored(op, axis))
      target = *stored;
    require(op, index, target);
  }
}

/// An accumulator without a placement keeps the state of its addend: addition is then local, and a sum that is reduced
/// once is reduced for all times. A split of the parameter splits the sum, which would be larger otherwise; storage
/// that is split over axes of the batch does not count.
void AxisSolver::visitAccumulate(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  ValueIndex before = graphOp.operands[0], addend = graphOp.operands[1], sum = graphOp.results.front();
  State state = plan.values[addend];
  if (given[before])
    state = *given[before];
  else if (!dataAxis && !graphOp.like.empty() && graphOp.like[axis].isSplit() && fitsOthers(addend, graphOp.like[axis]))
    state = graphOp.like[axis];
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
void AxisSolver::visitHandOn(OpIndex op) {
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

void AxisSolver::visit(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  if (graphOp.sink)
    return visitSink(op);
  if (graphOp.accumulates)
    return visitAccumulate(op);
  if (graphOp.handsOn)
    return visitHandOn(op);
  if (!graphOp.results.empty() && graph.source[graphOp.results.front()]) {
    // A read has the placement of its variable.
    ValueIndex value = graphOp.results.front();
    if (!given[value])
      return;
    plan.computes[op] = {*given[value]};
    kinds[op] = Candidate::Kind::Whole;
  } else {
    apply(op, choose(op));
  }
  for (ValueIndex result : graphOp.results)
    keep(result);
  if (graphOp.carries) {
    // The initial placement of a carried value is its placement in all iterations.
    kinds[op] = Candidate::Kind::Whole;
    plan.values[graphOp.results.front()] = plan.computes[op].front();
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void AxisSolver::run() {
  plan = AxisPlan();
  plan.operands.resize(graph.ops.size());
  plan.computes.resize(graph.ops.size());
  plan.values.resize(graph.values.size());
  kinds.assign(graph.ops.size(), Candidate::Kind::Whole);
  placed.assign(graph.values.size(), false);
  available = offered;
  places.assign(graph.values.size(), {});
  made.assign(graph.values.size(), {});
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value)
    if (graph.values[value].def < 0) {
      plan.values[value] = *given[value];
      placed[value] = true;
    }
  for (OpIndex op : llvm::ArrayRef(order).take_front(numEarly))
    visit(op);
  // Weights are placed, so the states that they require of the arguments are known.
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value)
    if (graph.values[value].def < 0)
      addAvailable(value);
  for (OpIndex op : llvm::ArrayRef(order).drop_front(numEarly))
    visit(op);
  forward = plan.values;
  sweepBack();
}

/// Repeats all decisions with the annotations of `look`, and keeps them if they send fewer bytes.
void AxisSolver::improve(bool (AxisSolver::*look)()) {
  double before = countBytes();
  auto givenBefore = given;
  auto offeredBefore = offered;
  if (!(this->*look)())
    return;
  run();
  if (countBytes() < before)
    return;
  given = std::move(givenBefore);
  offered = std::move(offeredBefore);
  run();
}

AxisPlan AxisSolver::solve() {
  run();
  for (int round = 0; round < kMaxCarried && annotateCarried(); ++round)
    run();
  // annotateSliced weighs the cost itself, so its annotations are kept even if they send slightly more bytes.
  if (annotateSliced())
    run();
  improve(&AxisSolver::annotateStored);
  improve(&AxisSolver::offerGathered);
  return std::move(plan);
}
