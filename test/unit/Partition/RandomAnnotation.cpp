//===- RandomAnnotation.cpp - random placements for a network -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States random placements that the sharding rules allow for every operation of a random network, as completion could
// have chosen them, so that Partition is tested beyond the placements that Complete prefers.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomAnnotation.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/unit/Partition/OperationPlacements.h"
#include "test/unit/Partition/RandomPlacement.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

static ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

std::vector<std::string> Coverage::findMissing() const {
  std::vector<std::string> missing;
  for (auto &[name, count] : factors)
    if (count.even == 0 || (count.mayBeUneven && count.uneven == 0))
      missing.push_back(name);
  return missing;
}

std::string Coverage::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << cases << " networks, " << unevenCases << " with parts of unequal size; " << held
         << " operations that not all ranks run\n";
  stream << llvm::formatv("{0,-52} {1,7} {2,7}\n", "factor", "even", "uneven");
  for (auto &[name, count] : factors)
    stream << llvm::formatv("{0,-52} {1,7} {2,7}\n", name, count.even, count.mayBeUneven ? count.uneven : 0);
  stream << llvm::formatv("{0,-52} {1,7}\n", "partial operands", "passed");
  for (auto &[name, count] : partials)
    stream << llvm::formatv("{0,-52} {1,7}\n", name, count);
  stream << llvm::formatv("{0,-52} {1,7}\n", "conversion", "made");
  for (auto &[name, count] : conversions)
    stream << llvm::formatv("{0,-52} {1,7}\n", name, count);
  return text;
}

MappingAttr RandomAnnotation::toAttr(const Placement &placement, Type type) {
  return placement.toAttr(type.getContext(), mesh, shapeOf(type));
}

/// A digit for a factor that may be split: the whole line, or one that repeats.
std::optional<FactorSplit> RandomAnnotation::pickSplit(const ShardingRule &rule, Axis axis) {
  std::vector<FactorUse> uses;
  auto collect = [&](const TensorRule &tensor) {
    for (const auto &dim : tensor.dims)
      for (const FactorUse &use : dim)
        if (rule.factors[use.factor].splittable && use.size > 1)
          uses.push_back(use);
  };
  llvm::for_each(rule.operands, collect);
  llvm::for_each(rule.results, collect);
  if (uses.empty())
    return std::nullopt;
  FactorUse use = random.choose(uses);
  int64_t n = mesh.getSize(axis), extent = use.size;
  if (random.chance(40)) {
    std::vector<int64_t> divisors;
    for (int64_t divisor = 2; divisor <= use.size; ++divisor)
      if (use.size % divisor == 0)
        divisors.push_back(divisor);
    extent = random.choose(divisors);
  }
  int64_t stride = llvm::divideCeil(extent, n);
  if (stride < extent && random.chance(10) && extent > (stride + 1) * (n - 1))
    ++stride;
  if (extent <= stride * (n - 1))
    return std::nullopt;
  return FactorSplit{use.factor, extent, stride, extent == use.size && use.offset == 0};
}

bool RandomAnnotation::trySplit(Operation *op, const ShardingRule &rule, Axis axis, OperationPlacements &placements) {
  std::optional<FactorSplit> split = pickSplit(rule, axis);
  std::optional<bool> isUneven = split ? placements.split(axis, *split) : std::nullopt;
  if (!isUneven)
    return false;
  Coverage::Count &count = coverage.factors[describeRole(op, rule, split->factor)];
  ++(*isUneven ? count.uneven : count.even);
  uneven |= *isUneven;
  return true;
}

void RandomAnnotation::tryPartial(Operation *op, const ShardingRule &rule, Axis axis, OperationPlacements &placements) {
  if (rule.partials.empty())
    return;
  const PartialRule &partial = rule.partials[random.pick(0, rule.partials.size() - 1)];
  // Sums by a tree belong to programs in which all sums have an order.
  if (partial.kind != ReduceKind::Tree && placements.pass(axis, partial))
    ++coverage.partials[describePartial(op, partial)];
}

/// Any placement but a partial one.
Placement RandomAnnotation::makeAny(Type type) {
  return makePlacement(random, mesh, shapeOf(type), std::nullopt, withHolders);
}

/// The placement in which a result is kept: as it is computed, reduced, or at random.
Placement RandomAnnotation::leave(const Placement &computed, Type type) {
  if (random.chance(20))
    return makeAny(type);
  Placement left = computed;
  for (Axis axis : computed.partialAxes)
    if (random.chance(60))
      left.erase(axis);
  return normalize(left, mesh);
}

void RandomAnnotation::annotateWith(Operation *op, const ShardingRule &rule) {
  OperationPlacements placements(op, rule, mesh);
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (factor.splittable && factor.size > 1)
      coverage.factors[describeRole(op, rule, index)].mayBeUneven |= factor.uneven;
  std::vector<Axis> axes;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    if (mesh.getSize(axis) > 1)
      axes.insert(axes.begin() + random.pick(0, axes.size()), axis);
  bool isHeld = false;
  for (Axis axis : axes) {
    if (withHolders && random.chance(15)) {
      placements.hold(axis, random.pick(0, mesh.getSize(axis) - 1));
      isHeld = true;
      continue;
    }
    int64_t choice = random.pick(0, 9);
    if (choice < 7)
      for (int attempt = 0; attempt < 3 && !trySplit(op, rule, axis, placements); ++attempt)
        continue;
    else if (choice < 9)
      tryPartial(op, rule, axis, placements);
  }
  coverage.held += isHeld;
  std::vector<Placement> results;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    // A carried value keeps the placement of its initial value.
    const Placement &computed = placements.result(index);
    results.push_back(isa<net::CarryOp>(op) ? computed : leave(computed, result.getType()));
  }
  placements.annotate(results);
}

/// A carried value keeps its placement, and may have another one after the loop.
void RandomAnnotation::annotateNext(Operation *op) {
  Builder builder(op->getContext());
  Type type = op->getResult(0).getType();
  Attribute kept = kResultsAttr.get(op->getOperand(1).getDefiningOp())[0];
  auto placement = Placement::resolve(cast<MappingAttr>(kept), mesh, shapeOf(type), [&] { return op->emitOpError(); });
  kOperandsAttr.set(op, builder.getArrayAttr({kept, kept}));
  kComputesAttr.set(op, builder.getArrayAttr(kept));
  kResultsAttr.set(op, builder.getArrayAttr(toAttr(leave(*placement, type), type)));
}

void RandomAnnotation::annotate(Operation *op) {
  if (isa<net::NextOp>(op))
    return annotateNext(op);
  auto interface = dyn_cast<ShardingOpInterface>(op);
  if (interface && !isa<net::ReadOp, net::AssignOp>(op))
    return annotateWith(op, interface.getShardingRule());
  // State is read into, assigned from and returned in any placement.
  Builder builder(op->getContext());
  SmallVector<Attribute> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(toAttr(makeAny(operand.getType()), operand.getType()));
  for (Value result : op->getResults())
    results.push_back(toAttr(makeAny(result.getType()), result.getType()));
  if (!isa<net::AssignOp>(op))
    kOperandsAttr.set(op, builder.getArrayAttr(operands));
  kResultsAttr.set(op, builder.getArrayAttr(results));
}

void RandomAnnotation::annotate(ModuleOp module) {
  OpBuilder builder(module.getBodyRegion());
  MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  // All ranks go through loops together.
  module.walk([&](net::LoopOp) { withHolders = false; });
  for (auto variable : module.getOps<net::VariableOp>())
    kMappingAttr.set(variable, toAttr(makeAny(variable.getType()), variable.getType()));
  for (auto func : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : func.getArguments())
      setMapping(argument, toAttr(makeAny(argument.getType()), argument.getType()));
    for (Operation &op : func.getBody().getOps())
      annotate(&op);
  }
}
