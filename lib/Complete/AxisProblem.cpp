//===- AxisProblem.cpp - placements to decide on one mesh axis ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices conversions on one axis, and keeps the candidates whose digits nest with the splits that other axes have
// already decided.
//
//===----------------------------------------------------------------------===//

#include "AxisProblem.h"
#include "dialects/Net/Loops.h"
#include <numeric>

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
} // namespace

AxisProblem::AxisProblem(const Graph &graph, const Mesh &mesh, Axis axis, bool dataAxis,
                         llvm::ArrayRef<std::pair<Axis, AxisPlan>> done)
    : graph(graph), n(mesh.getSize(axis)), axis(axis), dataAxis(dataAxis), isOwedInTime(graph.values.size(), false),
      derived(graph.values.size(), false), done(done), prices(n) {
  weigh(mesh);
  putInOrder();
}

void AxisProblem::weigh(const Mesh &mesh) {
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
}

void AxisProblem::putInOrder() {
  // Constants, then layouts of weights, then the rest; each in program order, so that definitions precede uses.
  llvm::SmallVector<int> rank(graph.ops.size());
  // Values computed from constants alone.
  llvm::SmallVector<bool> constant(graph.values.size(), false);
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

double AxisProblem::convertBytes(ValueIndex value, const State &from, const State &to) const {
  ++numSteps;
  if (to.isPartial() && from != to && !from.isReplicated())
    return kImpossible;
  return prices.getBytes(bytes[value], graph.values[value].shape, from, to);
}

double AxisProblem::convertCost(ValueIndex value, const State &from, const State &to) const {
  double paid = convertBytes(value, from, to);
  if (from.isSplit())
    paid *= graph.weight[value] ? kWeightPenalty : dataAxis ? kDataPenalty : 1;
  return paid;
}

//===----------------------------------------------------------------------===//
// Candidates that fit the decisions on other axes
//===----------------------------------------------------------------------===//

/// True if two axes can split a dimension in these ways: their digits must be nested.
static bool nests(const State &a, const State &b) {
  if (a.dim != b.dim)
    return true;
  const State &major = a.stride >= b.extent ? a : b, &minor = a.stride >= b.extent ? b : a;
  return major.stride >= minor.extent && major.stride % minor.extent == 0;
}

/// True if a tensor may be in these states on two axes.
static bool compatible(const State &mine, const State &other) {
  if (mine.isSplit() && other.isSplit())
    return nests(mine, other);
  return !(mine.isPartial() && other.isPartial()) || mine.reduction == other.reduction;
}

bool AxisProblem::fits(const Candidate &candidate, OpIndex op) const {
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

bool AxisProblem::fitsOthers(ValueIndex value, const State &state) const {
  if (auto closed = graph.closed.find(value);
      state.isSplit() && closed != graph.closed.end() && closed->second[state.dim] && graph.given[axis][value] != state)
    return false;
  for (const auto &[other, decided] : done)
    if (!compatible(state, decided.values[value]))
      return false;
  for (auto [other, column] : llvm::enumerate(graph.given))
    if (other != axis && column[value] && !compatible(state, *column[value]))
      return false;
  return true;
}

std::optional<Candidate> AxisProblem::makeSplit(OpIndex op, const FactorSplit &split) const {
  std::optional<Candidate> candidate = Candidate::split(graph.ops[op], split, n);
  return candidate && fits(*candidate, op) ? candidate : std::nullopt;
}

std::optional<Candidate> AxisProblem::splitByOperand(OpIndex op, unsigned operand, const State &state) const {
  std::optional<Candidate> candidate = Candidate::byOperand(graph.ops[op], operand, state, n);
  return candidate && fits(*candidate, op) ? candidate : std::nullopt;
}

std::optional<Candidate> AxisProblem::splitByResult(OpIndex op, unsigned result, const State &state) const {
  std::optional<Candidate> candidate = Candidate::byResult(graph.ops[op], result, state, n);
  return candidate && fits(*candidate, op) ? candidate : std::nullopt;
}

/// The largest run of indices in which every tensor of `rule` has a whole number of parts of `factor`.
static int64_t findPeriod(const ShardingRule &rule, unsigned factor) {
  int64_t period = rule.factors[factor].size;
  for (llvm::ArrayRef<TensorRule> tensors : {llvm::ArrayRef<TensorRule>(rule.operands), llvm::ArrayRef(rule.results)})
    for (const TensorRule &tensor : tensors)
      for (const auto &uses : tensor.dims)
        for (const FactorUse &use : uses)
          if (use.factor == factor)
            period = std::gcd(std::gcd(period, use.size), use.offset);
  return period;
}

llvm::SmallVector<Candidate, 4> AxisProblem::listSplits(OpIndex op) const {
  llvm::SmallVector<Candidate, 4> candidates;
  const ShardingRule &rule = graph.ops[op].rule;
  auto add = [&](unsigned factor, int64_t extent, bool open) {
    if (extent % n == 0)
      if (std::optional<Candidate> candidate = makeSplit(op, {factor, extent, extent / n, open}))
        candidates.push_back(std::move(*candidate));
  };
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    add(factor, rule.factors[factor].size, /*open=*/true);
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    if (int64_t period = findPeriod(rule, factor); period != 0 && period != rule.factors[factor].size)
      add(factor, period, /*open=*/false);
  return candidates;
}
