//===- Candidates.cpp - ways to compute an operation on an axis -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A candidate states for one axis in which state an operation reads its operands and leaves its results: a factor is
// split, partial operands pass, or all is replicated. The sharding rule alone decides here.
//
//===----------------------------------------------------------------------===//

#include "Candidate.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

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
  if (!factor.splittable || (uneven && !factor.uneven) || !keepsParts(factor, split, n))
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
