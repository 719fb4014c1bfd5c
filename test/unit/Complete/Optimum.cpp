//===- Optimum.cpp - the cheapest plan, by trying all ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branch and bound over all plans of an axis: operations in order, for each every way to compute it and every state in
// which its results may be kept, cut off at the bytes of the best plan so far. Exponential, so only for small programs.
//
//===----------------------------------------------------------------------===//

#include "Optimum.h"
#include <limits>
#include <map>
#include <numeric>

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One way to compute an operation.
struct Choice {
  std::vector<State> operands, results;
};

void addUnique(std::vector<State> &states, const State &state) {
  if (!llvm::is_contained(states, state))
    states.push_back(state);
}

/// Depth first over operations, cheapest so far as the bound.
class Search {
public:
  Search(const Graph &graph, Axis axis, int64_t n, double limit)
      : graph(graph), axis(axis), n(n), best(limit), kept(graph.values.size()), seen(graph.values.size()) {
    collectStates();
    for (size_t op = 0; op < graph.ops.size(); ++op)
      collectChoices(op);
  }

  double run() {
    for (size_t value = 0; value < graph.values.size(); ++value)
      if (graph.source[value])
        kept[value] = *graph.given[axis][value];
    visit(0, 0);
    return best;
  }

private:
  void collectStates();
  void collectChoices(OpIndex op);
  std::optional<Choice> split(const GraphOp &op, const FactorSplit &split) const;
  void visit(OpIndex op, double paid);
  void read(OpIndex op, const Choice &choice, size_t operand, double paid);
  void keep(OpIndex op, const Choice &choice, size_t result, double paid);

  const Graph &graph;
  Axis axis;
  int64_t n;
  double best;
  /// For every value the split states that it may be in.
  std::vector<std::vector<State>> states;
  std::vector<std::vector<Choice>> choices;
  std::vector<State> kept;
  std::vector<std::vector<State>> seen;
};

} // namespace

/// The part of its indices that a rank sends to change `from` to `to` along one dimension, where every rank sends as
/// much to each other one as the most that one needs. Counted over the shortest run of indices that repeats.
static double getExchangedPart(const State &from, const State &to, int64_t n) {
  int64_t period = std::lcm(from.extent, to.extent);
  std::map<std::pair<int64_t, int64_t>, int64_t> moved;
  for (int64_t index = 0; index < period; ++index)
    ++moved[{index % from.extent / from.stride, index % to.extent / to.stride}];
  int64_t most = 0;
  for (const auto &[ranks, indices] : moved)
    most = std::max(most, ranks.first == ranks.second ? 0 : indices);
  return static_cast<double>(most * (n - 1)) / (static_cast<double>(period) / n);
}

double meshwright::test::getRingBytes(double bytes, const State &from, const State &to, int64_t n) {
  double share = bytes * (n - 1) / n;
  if (from == to || from.isReplicated())
    return 0;
  if (to.isPartial())
    return kInfinity;
  if (from.isPartial())
    return to.isSplit() ? share : 2 * share;
  bool isEven = from.extent == n * from.stride && to.extent == n * to.stride;
  if (to.isSplit() && to.dim == from.dim)
    return isEven ? bytes / n * getExchangedPart(from, to, n) : share;
  return to.isSplit() ? share / n : share;
}

/// The placements of all tensors under this split of a factor; nothing if the parts of some tensor do not exist.
std::optional<Choice> Search::split(const GraphOp &op, const FactorSplit &split) const {
  const FactorInfo &factor = op.rule.factors[split.factor];
  if (!factor.splittable || (!factor.uneven && split.extent != split.stride * n))
    return std::nullopt;
  Choice choice;
  for (size_t index = 0; index < op.rule.operands.size() + op.rule.results.size(); ++index) {
    bool isResult = index >= op.rule.operands.size();
    size_t number = isResult ? index - op.rule.operands.size() : index;
    TensorSplit part = toTensorSplit(isResult ? op.rule.results[number] : op.rule.operands[number], split, n);
    if (part.kind == TensorSplit::Kind::Illegal)
      return std::nullopt;
    bool partial = isResult || llvm::is_contained(factor.partialOperands, number);
    State state = part.kind == TensorSplit::Kind::Present ? State::split(part.dim, part.extent, part.stride)
                  : partial                               ? State::partial(factor.reduction)
                                                          : State::replicated();
    (isResult ? choice.results : choice.operands).push_back(state);
  }
  return choice;
}

/// Starts from the contiguous split of every dimension and of what is given, and follows the rules to a fixed point.
void Search::collectStates() {
  states.resize(graph.values.size());
  for (size_t value = 0; value < graph.values.size(); ++value) {
    for (auto [dim, size] : llvm::enumerate(graph.values[value].shape))
      addUnique(states[value], State::split(dim, size, llvm::divideCeil(size, n)));
    if (graph.given[axis][value] && graph.given[axis][value]->isSplit())
      addUnique(states[value], *graph.given[axis][value]);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const GraphOp &op : graph.ops) {
      auto follow = [&](ValueIndex value, const TensorRule &tensor) {
        for (const State state : std::vector<State>(states[value])) {
          auto factor = toFactorSplit(tensor, state.dim, state.extent, state.stride, n);
          auto choice = factor ? split(op, *factor) : std::nullopt;
          if (!choice)
            continue;
          auto add = [&](ValueIndex other, const State &reached) {
            size_t before = states[other].size();
            if (reached.isSplit())
              addUnique(states[other], reached);
            changed |= states[other].size() != before;
          };
          for (auto [other, reached] : llvm::zip(op.operands, choice->operands))
            add(other, reached);
          for (auto [other, reached] : llvm::zip(op.results, choice->results))
            add(other, reached);
        }
      };
      for (auto [value, tensor] : llvm::zip(op.operands, op.rule.operands))
        follow(value, tensor);
      for (auto [value, tensor] : llvm::zip(op.results, op.rule.results))
        follow(value, tensor);
    }
  }
}

void Search::collectChoices(OpIndex index) {
  const GraphOp &op = graph.ops[index];
  std::vector<Choice> &list = choices.emplace_back();
  auto add = [&](const Choice &choice) {
    for (const Choice &other : list)
      if (other.operands == choice.operands && other.results == choice.results)
        return;
    list.push_back(choice);
  };
  list.push_back({std::vector<State>(op.operands.size()), std::vector<State>(op.results.size())});
  for (const PartialRule &partial : op.rule.partials) {
    Choice choice = list.front();
    for (unsigned operand : partial.operands)
      choice.operands[operand] = State::partial(partial.kind);
    choice.results.assign(op.results.size(), State::partial(partial.kind));
    add(choice);
  }
  auto addSplits = [&](ValueIndex value, const TensorRule &tensor) {
    for (const State &state : states[value])
      if (auto factor = toFactorSplit(tensor, state.dim, state.extent, state.stride, n))
        if (auto choice = split(op, *factor))
          add(*choice);
  };
  for (auto [value, tensor] : llvm::zip(op.operands, op.rule.operands))
    addSplits(value, tensor);
  for (auto [value, tensor] : llvm::zip(op.results, op.rule.results))
    addSplits(value, tensor);
}

void Search::visit(OpIndex op, double paid) {
  if (paid >= best)
    return;
  if (op == static_cast<OpIndex>(graph.ops.size())) {
    best = paid;
    return;
  }
  const GraphOp &graphOp = graph.ops[op];
  if (graphOp.sink) {
    // Results of the program are whole or split as they are kept; stored values are in their storage placement.
    for (ValueIndex operand : graphOp.operands) {
      State target = kept[operand].isPartial() ? State::replicated() : kept[operand];
      if (auto stored = graph.stored(op, axis))
        target = *stored;
      if (!llvm::is_contained(seen[operand], target))
        paid += getRingBytes(graph.values[operand].bytes, kept[operand], target, n);
    }
    return visit(op + 1, paid);
  }
  if (!graphOp.results.empty() && graph.source[graphOp.results.front()])
    return visit(op + 1, paid);
  for (const Choice &choice : choices[op])
    read(op, choice, 0, paid);
}

/// Pays for the operands from `operand` on.
void Search::read(OpIndex op, const Choice &choice, size_t operand, double paid) {
  if (paid >= best)
    return;
  const GraphOp &graphOp = graph.ops[op];
  if (operand == graphOp.operands.size())
    return keep(op, choice, 0, paid);
  ValueIndex value = graphOp.operands[operand];
  const State &target = choice.operands[operand];
  if (target == kept[value] || llvm::is_contained(seen[value], target))
    return read(op, choice, operand + 1, paid);
  if (graph.weight[value] && kept[value].isSplit())
    return;
  double more = getRingBytes(graph.values[value].bytes, kept[value], target, n);
  seen[value].push_back(target);
  read(op, choice, operand + 1, paid + more);
  seen[value].pop_back();
}

/// Decides where the results from `result` on are kept.
void Search::keep(OpIndex op, const Choice &choice, size_t result, double paid) {
  const GraphOp &graphOp = graph.ops[op];
  if (result == graphOp.results.size())
    return visit(op + 1, paid);
  ValueIndex value = graphOp.results[result];
  const State &computed = choice.results[result];
  std::vector<State> targets{computed};
  // A returned value is not scattered: it is whole, or in the parts in which it was computed.
  bool returned = llvm::any_of(graph.values[value].uses, [&](const Use &use) { return graph.ops[use.op].sink; });
  if (returned)
    targets = {computed.isPartial() ? State::replicated() : computed, State::replicated()};
  else if (!graph.weight[value] || !computed.isSplit()) {
    addUnique(targets, State::replicated());
    for (const State &state : states[value])
      addUnique(targets, state);
  }
  if (graph.given[axis][value])
    targets = {*graph.given[axis][value]};
  for (const State &target : targets) {
    kept[value] = target;
    keep(op, choice, result + 1, paid + getRingBytes(graph.values[value].bytes, computed, target, n));
  }
}

double meshwright::test::findFewestBytes(const Graph &graph, Axis axis, int64_t n, double limit) {
  return Search(graph, axis, n, limit).run();
}

double meshwright::test::getPlanBytes(const Graph &graph, const AxisPlan &plan, int64_t n) {
  double total = 0;
  for (auto [value, entry] : llvm::enumerate(graph.values)) {
    const State &kept = plan.values[value];
    if (entry.def >= 0)
      total += getRingBytes(entry.bytes, plan.computes[entry.def][entry.result], kept, n);
    std::vector<State> seen{kept};
    for (const Use &use : entry.uses) {
      const State &target = plan.operands[use.op][use.operand];
      if (llvm::is_contained(seen, target))
        continue;
      seen.push_back(target);
      if (graph.weight[value] && kept.isSplit())
        return kInfinity;
      total += getRingBytes(entry.bytes, kept, target, n);
    }
  }
  return total;
}
