//===- RandomAnnotation.cpp - random placements for a network -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/RandomAnnotation.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

/// The operands (o) and results (r) that have a factor; of concatenate, whose operands are alike, only whether any.
static std::string getRole(Operation *op, const ShardingRule &rule, unsigned factor) {
  auto has = [&](const TensorRule &tensor) {
    return llvm::any_of(tensor.dims, [&](const auto &uses) {
      return llvm::any_of(uses, [&](const FactorUse &use) { return use.factor == factor; });
    });
  };
  std::string role = op->getName().getStringRef().str() + ":";
  for (auto [index, tensor] : llvm::enumerate(rule.operands))
    if (has(tensor) && (index == 0 || !isa<net::ConcatenateOp>(op)))
      role += " o" + std::to_string(index);
  for (auto [index, tensor] : llvm::enumerate(rule.results))
    if (has(tensor))
      role += " r" + std::to_string(index);
  return role;
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

bool RandomAnnotation::trySplit(Operation *op, const ShardingRule &rule, Axis axis) {
  std::optional<FactorSplit> split = pickSplit(rule, axis);
  if (!split)
    return false;
  const FactorInfo &info = rule.factors[split->factor];
  int64_t n = mesh.getSize(axis);
  std::vector<Placement> next = placements;
  bool isUneven = false;
  for (auto [index, placement] : llvm::enumerate(next)) {
    bool isOperand = index < rule.operands.size();
    const TensorRule &tensor = isOperand ? rule.operands[index] : rule.results[index - rule.operands.size()];
    ArrayRef<int64_t> shape =
        shapeOf(isOperand ? op->getOperand(index).getType() : op->getResult(index - rule.operands.size()).getType());
    TensorSplit part = toTensorSplit(tensor, *split, n);
    if (part.kind == TensorSplit::Kind::Illegal)
      return false;
    if (part.kind == TensorSplit::Kind::Present) {
      Placement before = placement;
      if (!placement.insert(part.dim, {axis, part.extent, part.stride}) || !isNested(placement, shape) ||
          !keepsDigits(before, placement, shape))
        return false;
      // The digit has to mean the factor, alone and under the others.
      Placement alone = Placement::replicated(shape.size());
      alone.dims[part.dim].push_back({axis, part.extent, part.stride});
      if (!keepsDigits(alone, placement, shape))
        return false;
      isUneven |= part.extent != part.stride * n;
    } else if (!isOperand || llvm::is_contained(info.partialOperands, index)) {
      if (!placement.partialAxes.empty() && placement.partialKind != info.reduction)
        return false;
      placement.partialKind = info.reduction;
      placement.partialAxes.push_back(axis);
    }
  }
  if (isUneven && !info.uneven)
    return false;
  placements = std::move(next);
  Coverage::Count &count = coverage.factors[getRole(op, rule, split->factor)];
  ++(isUneven ? count.uneven : count.even);
  uneven |= isUneven;
  return true;
}

bool RandomAnnotation::tryPartial(Operation *op, const ShardingRule &rule, Axis axis) {
  if (rule.partials.empty())
    return false;
  const PartialRule &partial = rule.partials[random.pick(0, rule.partials.size() - 1)];
  bool isBitwise = partial.kind == ReduceKind::And || partial.kind == ReduceKind::Or;
  std::vector<Placement> next = placements;
  std::string name = (op->getName().getStringRef() + " " + stringifyReduceKind(partial.kind) + ":").str();
  auto owe = [&](Placement &placement, Type type) {
    // No reduction adds booleans, or combines the bits of floats.
    Type element = getElementTypeOrSelf(type);
    if (isBitwise ? !isa<IntegerType>(element) : element.isInteger(1))
      return false;
    if (!placement.partialAxes.empty() && placement.partialKind != partial.kind)
      return false;
    placement.partialKind = partial.kind;
    placement.partialAxes.push_back(axis);
    return true;
  };
  for (unsigned operand : partial.operands) {
    if (!owe(next[operand], op->getOperand(operand).getType()))
      return false;
    if (operand == 0 || !isa<net::ConcatenateOp>(op))
      name += " o" + std::to_string(operand);
  }
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (!owe(next[op->getNumOperands() + index], result.getType()))
      return false;
  placements = std::move(next);
  ++coverage.partials[name];
  return true;
}

/// Any placement but a partial one.
Placement RandomAnnotation::makeAny(Type type) {
  return makePlacement(random, mesh, shapeOf(type), std::nullopt, withHolders);
}

/// Where a result goes: as it is computed, reduced here, or somewhere else.
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
  placements.clear();
  for (Value operand : op->getOperands())
    placements.push_back(Placement::replicated(shapeOf(operand.getType()).size()));
  for (Value result : op->getResults())
    placements.push_back(Placement::replicated(shapeOf(result.getType()).size()));
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (factor.splittable && factor.size > 1)
      coverage.factors[getRole(op, rule, index)].mayBeUneven |= factor.uneven;
  std::vector<Axis> axes;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    if (mesh.getSize(axis) > 1)
      axes.insert(axes.begin() + random.pick(0, axes.size()), axis);
  bool isHeld = false;
  for (Axis axis : axes) {
    if (withHolders && random.chance(15)) {
      int64_t holder = random.pick(0, mesh.getSize(axis) - 1);
      for (Placement &placement : placements)
        placement.setHolder(axis, holder);
      isHeld = true;
      continue;
    }
    int64_t choice = random.pick(0, 9);
    if (choice < 7)
      for (int attempt = 0; attempt < 3 && !trySplit(op, rule, axis); ++attempt)
        continue;
    else if (choice < 9)
      tryPartial(op, rule, axis);
  }
  coverage.held += isHeld;
  SmallVector<Attribute> operands, computes, results;
  for (auto [index, placement] : llvm::enumerate(placements)) {
    llvm::sort(placement.partialAxes);
    if (index < op->getNumOperands()) {
      operands.push_back(toAttr(placement, op->getOperand(index).getType()));
      continue;
    }
    Type type = op->getResult(index - op->getNumOperands()).getType();
    computes.push_back(toAttr(placement, type));
    results.push_back(toAttr(leave(placement, type), type));
  }
  Builder builder(op->getContext());
  op->setAttr(kOperandsAttr, builder.getArrayAttr(operands));
  op->setAttr(kComputesAttr, builder.getArrayAttr(computes));
  // What is handed on stays where it begins.
  op->setAttr(kResultsAttr, builder.getArrayAttr(isa<net::CarryOp>(op) ? computes : results));
}

/// A value is handed on where it is, and may be left elsewhere behind the loop.
void RandomAnnotation::annotateNext(Operation *op) {
  Builder builder(op->getContext());
  Type type = op->getResult(0).getType();
  Attribute kept = op->getOperand(1).getDefiningOp()->getAttrOfType<ArrayAttr>(kResultsAttr)[0];
  auto placement = Placement::resolve(cast<MappingAttr>(kept), mesh, shapeOf(type), [&] { return op->emitOpError(); });
  op->setAttr(kOperandsAttr, builder.getArrayAttr({kept, kept}));
  op->setAttr(kComputesAttr, builder.getArrayAttr(kept));
  op->setAttr(kResultsAttr, builder.getArrayAttr(toAttr(leave(*placement, type), type)));
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
    op->setAttr(kOperandsAttr, builder.getArrayAttr(operands));
  op->setAttr(kResultsAttr, builder.getArrayAttr(results));
}

void RandomAnnotation::annotate(ModuleOp module) {
  OpBuilder builder(module.getBodyRegion());
  MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  // All ranks go through loops together.
  module.walk([&](net::LoopOp) { withHolders = false; });
  for (auto variable : module.getOps<net::VariableOp>())
    variable->setAttr(kMappingAttr, toAttr(makeAny(variable.getType()), variable.getType()));
  for (auto func : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : func.getArguments())
      setMapping(argument, toAttr(makeAny(argument.getType()), argument.getType()));
    for (Operation &op : func.getBody().getOps())
      annotate(&op);
  }
}
