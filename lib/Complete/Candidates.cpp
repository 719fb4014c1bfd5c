//===- Candidates.cpp - ways to compute an operation on an axis -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A candidate states for one axis in which state an operation reads its operands and leaves its results: a factor is
// split, partial operands pass, or all is replicated. The first half derives candidates from the sharding rule alone;
// the second half keeps those whose digits nest with the splits that other axes have already decided.
//
//===----------------------------------------------------------------------===//

#include "AxisSolver.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

//===----------------------------------------------------------------------===//
// Candidates of an operation by itself
//===----------------------------------------------------------------------===//

Candidate Candidate::whole(const GraphOp &op) {
  Candidate candidate;
  candidate.operands.assign(op.operands.size(), State::replicated());
  candidate.results.assign(op.results.size(), State::replicated());
  return candidate;
}

std::optional<Candidate> Candidate::split(const GraphOp &op, const FactorSplit &split, int64_t n) {
  const ShardingRule &rule = op.rule;
  const FactorInfo &factor = rule.factors[split.factor];
  Candidate candidate{Kind::Split, {}, {}};
  bool uneven = split.extent != split.stride * n;
  if (!factor.splittable || (uneven && !factor.uneven))
    return std::nullopt;
  auto place = [&](const TensorRule &tensor, State absent) -> std::optional<State> {
    TensorSplit part = toTensorSplit(tensor, split, n);
    if (part.kind == TensorSplit::Kind::Illegal)
      return std::nullopt;
    return part.kind == TensorSplit::Kind::Present ? State::split(part.dim, part.extent, part.stride) : absent;
  };
  for (auto [index, tensor] : llvm::enumerate(rule.operands)) {
    bool partial = llvm::is_contained(factor.partialOperands, static_cast<unsigned>(index));
    auto state = place(tensor, partial ? State::partial(factor.reduction) : State::replicated());
    if (!state)
      return std::nullopt;
    candidate.operands.push_back(*state);
  }
  for (const TensorRule &tensor : rule.results) {
    auto state = place(tensor, State::partial(factor.reduction));
    if (!state)
      return std::nullopt;
    candidate.results.push_back(*state);
  }
  return candidate;
}

std::optional<Candidate> Candidate::byOperand(const GraphOp &op, unsigned operand, const State &state, int64_t n) {
  if (!state.isSplit())
    return std::nullopt;
  auto factor = toFactorSplit(op.rule.operands[operand], state.dim, state.extent, state.stride, n);
  return factor ? split(op, *factor, n) : std::nullopt;
}

std::optional<Candidate> Candidate::byResult(const GraphOp &op, unsigned result, const State &state, int64_t n) {
  if (!state.isSplit())
    return std::nullopt;
  auto factor = toFactorSplit(op.rule.results[result], state.dim, state.extent, state.stride, n);
  std::optional<Candidate> candidate = factor ? split(op, *factor, n) : std::nullopt;
  return candidate && candidate->results[result] == state ? candidate : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Candidates that fit the decisions on other axes
//===----------------------------------------------------------------------===//

/// True if all operands and the result of `rule` have the same dimensions, with one factor each.
bool AxisSolver::isElementwise(const ShardingRule &rule) {
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

/// True if two axes can split a dimension in these ways: their digits must be nested.
static bool nests(const State &a, const State &b) {
  if (a.dim != b.dim)
    return true;
  const State &major = a.stride >= b.extent ? a : b, &minor = a.stride >= b.extent ? b : a;
  return major.stride >= minor.extent && major.stride % minor.extent == 0;
}

bool AxisSolver::compatible(const State &mine, const State &other) {
  if (mine.isSplit() && other.isSplit())
    return nests(mine, other);
  return !(mine.isPartial() && other.isPartial()) || mine.reduction == other.reduction;
}

bool AxisSolver::fits(const Candidate &candidate, OpIndex op) const {
  for (const auto &[other, decided] : done) {
    for (auto [mine, theirs] : llvm::zip(candidate.operands, decided.operands[op]))
      if (!compatible(mine, theirs))
        return false;
    for (auto [mine, theirs, value] : llvm::zip(candidate.results, decided.computes[op], graph.ops[op].results))
      if (!compatible(mine, theirs) || !compatible(mine, decided.values[value]))
        return false;
  }
  return true;
}

/// True if `value` can be kept in `state`, given the axes decided before and the given placements on all others.
bool AxisSolver::fitsOthers(ValueIndex value, const State &state) const {
  for (const auto &[other, decided] : done)
    if (!compatible(state, decided.values[value]))
      return false;
  for (auto [other, column] : llvm::enumerate(graph.given))
    if (other != axis && column[value] && !compatible(state, *column[value]))
      return false;
  return true;
}

std::optional<Candidate> AxisSolver::makeSplit(OpIndex op, const FactorSplit &split) const {
  std::optional<Candidate> candidate = Candidate::split(graph.ops[op], split, n);
  return candidate && fits(*candidate, op) ? candidate : std::nullopt;
}

std::optional<Candidate> AxisSolver::makePartial(OpIndex op, const PartialRule &partial) const {
  const GraphOp &graphOp = graph.ops[op];
  Candidate candidate{Candidate::Kind::Partial, {}, {}};
  candidate.operands.assign(graphOp.operands.size(), State::replicated());
  bool any = false;
  for (unsigned operand : partial.operands) {
    any |= plan.values[graphOp.operands[operand]] == State::partial(partial.kind);
    candidate.operands[operand] = State::partial(partial.kind);
  }
  candidate.results.assign(graphOp.results.size(), State::partial(partial.kind));
  if (!any || !fits(candidate, op))
    return std::nullopt;
  return candidate;
}

Candidate AxisSolver::makeWhole(OpIndex op) const { return Candidate::whole(graph.ops[op]); }

std::optional<Candidate> AxisSolver::splitByOperand(OpIndex op, unsigned operand) const {
  const State &state = plan.values[graph.ops[op].operands[operand]];
  std::optional<Candidate> candidate = Candidate::byOperand(graph.ops[op], operand, state, n);
  return candidate && fits(*candidate, op) ? candidate : std::nullopt;
}

std::optional<Candidate> AxisSolver::splitByResult(OpIndex op, unsigned result, const State &state) const {
  std::optional<Candidate> candidate = Candidate::byResult(graph.ops[op], result, state, n);
  return candidate && fits(*candidate, op) ? candidate : std::nullopt;
}

std::optional<Candidate> AxisSolver::anchor(OpIndex op) const {
  for (auto [index, operand] : llvm::enumerate(graph.ops[op].operands))
    if (graph.weight[operand] && placed[operand])
      if (auto candidate = splitByOperand(op, index))
        return candidate;
  return std::nullopt;
}

/// The candidate in which a marked operation passes its partial operands.
std::optional<Candidate> AxisSolver::travel(OpIndex op) const {
  if (graph.ops[op].defersReduction)
    for (const PartialRule &partial : graph.ops[op].rule.partials)
      if (auto candidate = makePartial(op, partial))
        return candidate;
  return std::nullopt;
}

/// Splits of factors that no operand splits: they exchange parts, where following an operand would leave a sum to
/// reduce or is impossible.
void AxisSolver::addExchanges(OpIndex op, llvm::SmallVectorImpl<Candidate> &candidates) const {
  const GraphOp &graphOp = graph.ops[op];
  auto isSplit = [&](ValueIndex operand) { return plan.values[operand].isSplit(); };
  auto isPartial = [&](ValueIndex operand) { return plan.values[operand].isPartial(); };
  if (llvm::none_of(graphOp.operands, isSplit) || llvm::any_of(graphOp.operands, isPartial))
    return;
  for (auto [index, factor] : llvm::enumerate(graphOp.rule.factors))
    if (factor.size % n == 0)
      if (auto candidate = makeSplit(op, {static_cast<unsigned>(index), factor.size, factor.size / n, /*open=*/true}))
        candidates.push_back(*candidate);
}
