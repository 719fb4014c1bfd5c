//===- Advice.cpp - finds conversions that a strategy could avoid ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices the conversions of a finished plan once more, axis by axis, to report two kinds of traffic that usually come
// from the strategy and not from the network: values that change their split between operations, and partial sums
// larger than the operands they come from. Findings below one percent of the axis's traffic are dropped. Linear in
// uses.
//
//===----------------------------------------------------------------------===//

#include "Advice.h"
#include "ConversionPrices.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Support/Units.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

namespace {

/// Findings below this share of the axis's traffic are not reported.
constexpr double kNegligible = 0.01;
/// A product is reported if its partial result is larger than its input by this factor.
constexpr double kManyTimes = 2;

/// Reviews the plan of one axis.
class Adviser {
public:
  Adviser(const Graph &graph, const Mesh &mesh, ArrayRef<std::pair<Axis, AxisPlan>> plans, size_t index)
      : graph(graph), mesh(mesh), plans(plans), plan(plans[index].second), axis(plans[index].first),
        n(mesh.getSize(axis)), prices(n) {}

  void advise();

private:
  /// Conversions of one kind: their number, their bytes, and the first of them.
  struct Finding {
    int64_t count = 0;
    double bytes = 0;
    Operation *first = nullptr;
    void add(double paid, Operation *op) {
      ++count;
      bytes += paid;
      if (!first)
        first = op;
    }
  };

  double getBytes(ValueIndex value) const;
  double convertBytes(ValueIndex value, const State &from, const State &to) const;
  bool canFollow(OpIndex op, unsigned operand, const State &state) const;
  void lookAtUses(ValueIndex value);
  void lookAtProduct(OpIndex op);

  const Graph &graph;
  const Mesh &mesh;
  ArrayRef<std::pair<Axis, AxisPlan>> plans;
  const AxisPlan &plan;
  Axis axis;
  int64_t n;
  ConversionPrices prices;
  double total = 0;
  Finding moved, reduced;
};

} // namespace

/// The size of a value after splits over the other axes.
double Adviser::getBytes(ValueIndex value) const {
  double bytes = graph.values[value].bytes;
  for (const auto &[other, decided] : plans)
    if (other != axis && decided.values[value].isSplit())
      bytes /= mesh.getSize(other);
  return bytes;
}

double Adviser::convertBytes(ValueIndex value, const State &from, const State &to) const {
  return to.isPartial() ? 0 : prices.getBytes(getBytes(value), graph.values[value].shape, from, to);
}

/// True if `op` can be split as its operand is.
bool Adviser::canFollow(OpIndex op, unsigned operand, const State &state) const {
  const ShardingRule &rule = graph.ops[op].rule;
  auto split = toFactorSplit(rule.operands[operand], state.dim, state.extent, state.stride, n);
  auto isLegal = [&](const TensorRule &tensor) {
    return toTensorSplit(tensor, *split, n).kind != TensorSplit::Kind::Illegal;
  };
  return split && rule.factors[split->factor].splittable && llvm::all_of(rule.operands, isLegal) &&
         llvm::all_of(rule.results, isLegal);
}

void Adviser::lookAtUses(ValueIndex value) {
  const GraphValue &entry = graph.values[value];
  const State &kept = plan.values[value];
  if (entry.def >= 0)
    total += convertBytes(value, plan.computes[entry.def][entry.result], kept);
  SmallVector<State, 2> seen{kept};
  for (const Use &use : entry.uses) {
    const State &target = plan.operands[use.op][use.operand];
    if (llvm::is_contained(seen, target))
      continue;
    seen.push_back(target);
    double paid = convertBytes(value, kept, target);
    total += paid;
    if (kept.isSplit() && !graph.ops[use.op].sink && (target.isSplit() || !canFollow(use.op, use.operand, kept)))
      moved.add(paid, graph.ops[use.op].op);
  }
}

/// Finds a product with a split parameter whose partial sum is larger than its input.
void Adviser::lookAtProduct(OpIndex op) {
  const GraphOp &graphOp = graph.ops[op];
  if (graphOp.results.size() != 1 || graphOp.operands.size() != 2 || !plan.computes[op].front().isPartial())
    return;
  for (unsigned operand : {0, 1}) {
    ValueIndex weight = graphOp.operands[operand], other = graphOp.operands[1 - operand];
    if (!graph.weight[weight] || graph.weight[other] || !plan.operands[op][operand].isSplit() ||
        !plan.operands[op][1 - operand].isSplit())
      continue;
    ValueIndex result = graphOp.results.front();
    if (getBytes(result) > kManyTimes * getBytes(other))
      reduced.add(convertBytes(result, plan.computes[op].front(), State::replicated()), graphOp.op);
  }
}

void Adviser::advise() {
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(graph.values.size()); ++value)
    lookAtUses(value);
  for (OpIndex op = 0; op < static_cast<OpIndex>(graph.ops.size()); ++op)
    lookAtProduct(op);
  StringRef name = mesh.getName(axis);
  if (moved.bytes > kNegligible * total)
    emitWarning(moved.first->getLoc())
        << "values change their split over axis \"" << name << "\", " << formatBytes(moved.bytes) << " per step in "
        << moved.count
        << " conversions; first here; a fused parameter is split by groups, heads over an axis that divides them";
  if (reduced.bytes > kNegligible * total)
    emitWarning(reduced.first->getLoc())
        << "products with a split parameter leave " << formatBytes(reduced.bytes)
        << " per step to be reduced over axis \"" << name
        << "\", more than they read; first here; split the parameter along a dimension that the product keeps";
}

void complete::warnAboutCosts(const Graph &graph, const Mesh &mesh, ArrayRef<std::pair<Axis, AxisPlan>> plans,
                              size_t axis) {
  Adviser(graph, mesh, plans, axis).advise();
}
