//===- SliceSolver.cpp - splits, sums and whole values over slices --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One forward sweep: an operation follows its split operand. Without one, a sum over the slices passes the operation if
// it is linear in the sum and the sum has no other use. Any other operation is computed whole, after the slices if an
// operand depends on a sum over them. One reverse sweep computes in slices values that are only read in slices. Both
// are linear.
//
//===----------------------------------------------------------------------===//

#include "SliceSolver.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

SliceSolver::SliceSolver(const Graph &graph, const Mesh &mesh, Axis axis)
    : graph(graph), n(mesh.getSize(axis)), name(mesh.getName(axis)), infos(graph.values.size()) {
  plan.operands.resize(graph.ops.size());
  plan.computes.resize(graph.ops.size());
  plan.values.resize(graph.values.size());
  for (auto [value, info, entry] : llvm::enumerate(infos, graph.values))
    if (entry.def < 0) {
      info.ofInputs = info.whole = true;
      info.state = *graph.given[axis][value];
    }
  for (const GraphOp &op : graph.ops)
    for (ValueIndex result : op.results)
      infos[result].ofInputs = !graph.source[result] &&
                               llvm::all_of(op.operands, [&](ValueIndex operand) { return infos[operand].ofInputs; });
}

//===----------------------------------------------------------------------===//
// Choice of a candidate per operation
//===----------------------------------------------------------------------===//

/// True if `op` converts its operand to wider floats.
static bool isWidening(Operation *op) {
  auto convert = dyn_cast<net::ConvertOp>(op);
  if (!convert)
    return false;
  Type from = net::elementTypeOf(convert.getOperand()), to = net::elementTypeOf(convert.getResult());
  return isa<FloatType>(from) && isa<FloatType>(to) && from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
}

/// True if slices have parts of a sum, in any order or in a fixed one.
static bool isAddedUp(const State &state) { return state.isPartial() && isSum(state.reduction); }

static bool isNarrowing(Operation *op) { return isa<net::ConvertOp>(op) && !isWidening(op); }

/// True if `value` is a sum over the slices computed in another stage than `op`, or in a stage where `op` has none.
bool SliceSolver::isSumOfOther(ValueIndex value, OpIndex op) const {
  return infos[value].state.isPartial() && graph.getStage(value) != graph.ops[op].stage;
}

/// True if the sum over the slices may as well be completed after `op`: the result is not larger and not rounded, unless
/// the parts of a sum are, and the sum is in the same stage.
bool SliceSolver::passes(OpIndex op) const {
  const GraphOp &entry = graph.ops[op];
  const auto *sum = llvm::find_if(entry.operands, [&](ValueIndex value) { return isAddedUp(infos[value].state); });
  if (entry.results.size() != 1 || sum == entry.operands.end())
    return false;
  const State state = infos[*sum].state;
  if (isNarrowing(entry.op) && state.reduction == ReduceKind::Sum)
    return false;
  auto isSum = [&](ValueIndex value) { return infos[value].state == state; };
  if (llvm::any_of(entry.operands, [&](ValueIndex value) { return isSumOfOther(value, op); }))
    return false;
  int64_t largest = 0;
  for (ValueIndex operand : entry.operands)
    if (isSum(operand))
      largest = std::max(largest, graph.values[operand].bytes);
  // A stack is as large as the values of all iterations together.
  if (isWidening(entry.op) || isa<net::StackOp>(entry.op))
    return state.reduction == ReduceKind::Sum;
  auto isWhole = [&](ValueIndex value) { return infos[value].state.isReplicated() && !infos[value].waitsFor; };
  return graph.values[entry.results.front()].bytes <= largest &&
         llvm::any_of(entry.rule.partials, [&](const PartialRule &partial) {
           return partial.kind == state.reduction && llvm::all_of(llvm::enumerate(entry.operands), [&](auto operand) {
                    bool inRule = llvm::is_contained(partial.operands, static_cast<unsigned>(operand.index()));
                    return inRule ? isSum(operand.value()) : isWhole(operand.value());
                  });
         });
}

/// True if every slice has the operands of `candidate`, and all its results are slices or sums over the slices.
bool SliceSolver::works(OpIndex op, const Candidate &candidate) const {
  for (auto [operand, target] : llvm::zip(graph.ops[op].operands, candidate.operands)) {
    const Info &info = infos[operand];
    bool isThere =
        info.state == target || (target.isReplicated() && (info.whole || info.ofInputs)) || info.state.isReplicated();
    if (!isThere || info.waitsFor || !isEven(target) || (target.isPartial() && isSumOfOther(operand, op)))
      return false;
  }
  return llvm::all_of(candidate.results,
                      [&](const State &state) { return isEven(state) && (!state.isPartial() || isAddedUp(state)); });
}

FailureOr<Candidate> SliceSolver::choose(OpIndex op) const {
  const GraphOp &entry = graph.ops[op];
  bool isOfInputs = llvm::all_of(entry.results, [&](ValueIndex result) { return infos[result].ofInputs; });
  bool isSplit = false;
  for (auto [index, operand] : llvm::enumerate(entry.operands)) {
    isSplit |= infos[operand].state.isSplit();
    std::optional<Candidate> candidate = Candidate::byOperand(entry, index, infos[operand].state, n);
    if (!candidate || !works(op, *candidate))
      continue;
    bool reduces = llvm::any_of(candidate->results, [](const State &state) { return state.isPartial(); });
    if (!reduces || !isOfInputs)
      return *candidate;
  }
  if (isSplit && !isOfInputs)
    return explain(op);
  Candidate candidate = Candidate::whole(entry);
  if (passes(op)) {
    candidate.kind = Candidate::Kind::Partial;
    for (auto [operand, state] : llvm::zip(entry.operands, candidate.operands)) {
      state = infos[operand].state;
      if (isAddedUp(state))
        candidate.results.assign(1, state);
    }
  }
  return candidate;
}

/// Emits the reason why `op` cannot be computed slice by slice.
InFlightDiagnostic SliceSolver::explain(OpIndex op) const {
  const GraphOp &entry = graph.ops[op];
  for (auto [index, operand] : llvm::enumerate(entry.operands)) {
    const Info &info = infos[operand];
    if (!info.waitsFor && !info.state.isPartial())
      continue;
    auto error = entry.op->emitOpError() << "is computed for each of the " << n << " slices of axis \"" << name
                                         << "\", but operand #" << index << " is only known after the last one";
    ValueIndex sum = info.waitsFor.value_or(operand);
    error.attachNote(graph.values[sum].value.getLoc()) << "the slices are added up here";
    return error;
  }
  for (auto [index, operand] : llvm::enumerate(entry.operands))
    if (auto candidate = Candidate::byOperand(entry, index, infos[operand].state, n))
      for (const State &state : candidate->results)
        if (state.isPartial() && !isAddedUp(state))
          return entry.op->emitOpError() << "reduces the batch by " << stringifyReduceKind(state.reduction)
                                         << ", but the " << n << " slices of axis \"" << name
                                         << "\" can only be combined by sum";
  return entry.op->emitOpError() << "mixes samples of the batch, and has no form for one of the " << n
                                 << " slices of axis \"" << name << "\"";
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Completes the sum of a partial value at its definition.
void SliceSolver::addUp(ValueIndex value) {
  infos[value].state = State::replicated();
  infos[value].waitsFor = value;
  if (graph.values[value].iterations > 1 && !addedInLoop)
    addedInLoop = value;
  ++numMade;
}

/// Computes `value`, which depends on inputs alone, for the whole batch as well.
void SliceSolver::makeWhole(ValueIndex value) {
  llvm::SmallVector<ValueIndex> next{value};
  while (!next.empty()) {
    Info &info = infos[next.back()];
    OpIndex op = graph.values[next.pop_back_val()].def;
    if (info.whole || !info.state.isSplit())
      continue;
    info.whole = true;
    Candidate candidate = Candidate::whole(graph.ops[op]);
    plan.operands[op] = candidate.operands;
    plan.computes[op] = candidate.results;
    for (ValueIndex result : graph.ops[op].results)
      infos[result].whole = true;
    llvm::append_range(next, graph.ops[op].operands);
  }
}

/// A sum has one accumulator: it passes on until it is named as a gradient or gets another placement, unless it is
/// needed earlier.
void SliceSolver::keep(ValueIndex value) {
  const GraphValue &entry = graph.values[value];
  if (!infos[value].state.isPartial())
    return;
  bool isGiven = llvm::any_of(graph.given, [&](const auto &column) { return column[value].has_value(); });
  if (entry.uses.size() != 1 || isGiven || graph.isHeld(value) ||
      net::getUserName(graph.ops[entry.def].op).starts_with(net::kGradientPrefix))
    addUp(value);
}

void SliceSolver::apply(OpIndex op, const Candidate &candidate) {
  const GraphOp &entry = graph.ops[op];
  plan.operands[op] = candidate.operands;
  plan.computes[op] = candidate.results;
  if (candidate.kind == Candidate::Kind::Partial && isWidening(entry.op))
    widened.push_back(op);
  std::optional<ValueIndex> waitsFor;
  for (auto [operand, target] : llvm::zip(entry.operands, candidate.operands)) {
    if (target.isReplicated() && infos[operand].state.isPartial())
      addUp(operand);
    if (target.isReplicated() && infos[operand].state.isSplit())
      makeWhole(operand);
    if (infos[operand].waitsFor)
      waitsFor = infos[operand].waitsFor;
  }
  for (auto [result, state] : llvm::zip(entry.results, candidate.results)) {
    infos[result].state = state;
    infos[result].waitsFor = waitsFor;
    keep(result);
  }
}

/// Assigned and returned values are sums or concatenations, complete after the last slice.
void SliceSolver::visitSink(OpIndex op) {
  for (ValueIndex operand : graph.ops[op].operands) {
    if (infos[operand].state.isPartial())
      addUp(operand);
    numMade += infos[operand].state.isSplit() && !infos[operand].whole;
  }
  plan.operands[op] = Candidate::whole(graph.ops[op]).operands;
}

LogicalResult SliceSolver::visit(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  if (entry.sink) {
    visitSink(op);
    return success();
  }
  FailureOr<Candidate> candidate = choose(op);
  if (failed(candidate))
    return failure();
  apply(op, *candidate);
  return success();
}

//===----------------------------------------------------------------------===//
// Reverse
//===----------------------------------------------------------------------===//

/// Splits the early result of `op` if all its uses read the same slices of it.
void SliceSolver::sinkInto(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  if (entry.results.size() != 1 || graph.source[entry.results.front()])
    return;
  ValueIndex value = entry.results.front();
  const auto &uses = graph.values[value].uses;
  Info &info = infos[value];
  if (!info.state.isReplicated() || info.waitsFor || uses.empty())
    return;
  const State target = plan.operands[uses.front().op][uses.front().operand];
  if (!target.isSplit() ||
      !llvm::all_of(uses, [&](const Use &use) { return plan.operands[use.op][use.operand] == target; }))
    return;
  std::optional<Candidate> split = Candidate::byResult(entry, 0, target, n);
  if (!split || !works(op, *split))
    return;
  plan.operands[op] = split->operands;
  plan.computes[op] = split->results;
  info.state = target;
}

FailureOr<AxisPlan> SliceSolver::solve() {
  for (OpIndex op = 0; op < static_cast<OpIndex>(graph.ops.size()); ++op)
    if (failed(visit(op)))
      return failure();
  if (addedInLoop)
    return graph.ops[graph.values[*addedInLoop].def].op->emitOpError()
           << "is added up over the " << n << " slices of axis \"" << name
           << "\" in a loop, which every slice executes by itself; model.unroll_loops unrolls loops";
  if (numMade == 0)
    return graph.ops.back().op->getParentOp()->emitOpError()
           << "leaves nothing to compute for each of the " << n << " slices of axis \"" << name
           << "\": no result depends on both a slice and a variable";
  for (OpIndex op = static_cast<OpIndex>(graph.ops.size()) - 1; op >= 0; --op)
    sinkInto(op);
  for (auto [info, state] : llvm::zip(infos, plan.values))
    state = info.whole ? State::replicated() : info.state;
  return plan;
}
