//===- AxisSolver.cpp - decides the placements on one axis ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One sweep over the operations in the order constants, what is made of weights by layout operations, the rest. Each
// operation takes the cheapest of: split a factor that one of its operands (or the given placement of a result) splits;
// let partial operands pass, where it is linear or monotone in them; be computed whole; split another factor, which
// exchanges parts. What makes the plans good:
//
//  * An operation that reads a split weight splits that factor, whatever it costs: weights never move.
//  * A partial value with one use travels on; where its use refuses it, it is reduced at the cheapest place on the way
//    back, so that a sum is reduced before it is broadcast and after it is joined with others. What is gathered is
//    gathered at the cheapest place, too.
//  * A partial value with several uses is reduced where it is made, scattered if a use already needs it split.
//  * What the program marks as travelling lets partial operands pass, whatever it costs, and is not reduced in front
//  of.
//  * A state that anchored users will ask for anyway is free for everybody else.
//
// A sweep in reverse makes replicated values split whose uses all slice them. Then SecondLook.cpp annotates what only
// the whole plan shows, and everything is decided once more. Every operation is looked at a fixed number of times.
//
//===----------------------------------------------------------------------===//

#include "AxisSolver.h"
#include "dialects/Dist/Collectives.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

namespace {
/// A weight that moves, and a digit of the batch that is gathered, cost this much more than their bytes.
constexpr double kWeightPenalty = 1e6;
constexpr double kDataPenalty = 1e3;
/// What is sent with every trip of a loop costs a little more than its bytes.
constexpr double kTripPenalty = 1.001;
constexpr double kImpossible = 1e30;
/// How many operations a conversion is followed back; in longer chains it stands on the way.
constexpr int kMaxLength = 256;
/// How often values that trips hand on are placed anew, as what becomes of them shows.
constexpr int kMaxCarried = 4;
} // namespace

AxisSolver::AxisSolver(const Graph &graph, const Mesh &mesh, Axis axis, bool dataAxis,
                       llvm::ArrayRef<std::pair<Axis, AxisPlan>> done)
    : graph(graph), n(mesh.getSize(axis)), axis(axis), dataAxis(dataAxis), done(done), given(graph.given[axis]),
      offered(graph.values.size()), isOwedInTime(graph.values.size(), false) {
  for (size_t value = 0; value < graph.values.size(); ++value) {
    double size = graph.values[value].bytes;
    // Of two places with equal bytes the one behind a loop has fewer launches.
    if (graph.values[value].trips > 1)
      size *= kTripPenalty * graph.values[value].trips;
    for (const auto &[other, decided] : done) {
      const State &state = decided.values[value];
      // Along times, every slice is sent, and a part of a sum is sent as often as there are parts.
      if (state.isSplit() && !mesh.isTime(other))
        size /= mesh.getSize(other);
      if (state.isPartial() && mesh.isTime(other))
        size *= mesh.getSize(other);
      isOwedInTime[value] |= state.isPartial() && mesh.isTime(other);
    }
    bytes.push_back(size);
  }
  // Constants, then what is made of weights, then the rest; each in program order, so that definitions come before
  // uses.
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

/// What one conversion costs: its bytes, or more where it should not happen.
double AxisSolver::convertCost(ValueIndex value, const State &from, const State &to) const {
  double paid = convertBytes(bytes[value], from, to);
  if (from.isSplit())
    paid *= graph.weight[value] ? kWeightPenalty : dataAxis ? kDataPenalty : 1;
  return paid;
}

/// What reading `value` in state `target` costs beyond what is paid already.
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

/// Whether a conversion of `value` may become one of the operands of the operation that made it: a partial value that
/// passed through, or a split one with a single use.
bool AxisSolver::canConvertBefore(ValueIndex value) const {
  const GraphValue &entry = graph.values[value];
  if (entry.def < 0 || graph.ops[entry.def].results.size() != 1)
    return false;
  // Time is reduced before space: what is added up behind the last slice is sent once.
  if (llvm::any_of(graph.ops[entry.def].operands, [&](ValueIndex operand) { return isOwedInTime[operand]; }))
    return false;
  if (plan.values[value].isPartial())
    return kinds[entry.def] == Candidate::Kind::Partial && !graph.ops[entry.def].travels;
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
      // A sum is joined late, but a part is kept as long as it costs nothing.
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
  // Ties go to the first: splits, then partial values that pass, then the whole, then other splits.
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

/// The state in which a partial value with several uses is reduced: split, if a use needs it so because of what it
/// reads besides.
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

/// Converts `value` at the cheapest place on its way back; whole, where other axes are in the way of `wanted`.
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

/// Whether a partial value goes on through all of `uses`.
bool AxisSolver::allTravel(llvm::ArrayRef<Use> uses) const {
  return llvm::all_of(uses, [&](const Use &use) { return graph.ops[use.op].travels; });
}

/// Decides where a value that was just computed is kept.
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

/// What is added up over times is kept as it comes where nobody says otherwise: adding is for nothing, and a sum that
/// is reduced once has been reduced for all of them. What splits the parameter splits the sum, or it would be larger;
/// storage that is split over the batch's axes is no part of that.
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

/// A trip leaves what it hands on where the next one finds it.
void AxisSolver::visitHandOn(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  State state = plan.values[graphOp.operands[1]];
  // Bringing it there changes how it is made, so this is the time to see how that would be otherwise.
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
    // What is read from a variable is where the variable is kept.
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
    // Where it begins is where it stays.
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
  // Weights are placed now, so that what they will ask of the arguments is known.
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value)
    if (graph.values[value].def < 0)
      addAvailable(value);
  for (OpIndex op : llvm::ArrayRef(order).drop_front(numEarly))
    visit(op);
  forward = plan.values;
  sweepBack();
}

/// Decides everything once more with what `look` annotates, and keeps that if it sends fewer bytes.
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
  // What most uses slice is followed through even where it sends a little more: it is what was annotated.
  if (annotateSliced())
    run();
  improve(&AxisSolver::annotateStored);
  improve(&AxisSolver::offerGathered);
  return std::move(plan);
}
