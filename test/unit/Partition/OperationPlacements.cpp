//===- OperationPlacements.cpp - placements by an operation's rule --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the split of a factor, or the passing of partial operands, into placements of all operands and results of one
// operation, as its sharding rule says.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/OperationPlacements.h"
#include "dialects/Dist/RuleCheck.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

static ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

OperationPlacements::OperationPlacements(Operation *op, const ShardingRule &rule, const Mesh &mesh)
    : op(op), rule(&rule), mesh(&mesh) {
  for (unsigned index = 0; index < op->getNumOperands() + op->getNumResults(); ++index)
    placements.push_back(Placement::replicated(shapeOf(getType(index)).size()));
}

Type OperationPlacements::getType(unsigned index) const {
  unsigned numOperands = op->getNumOperands();
  return index < numOperands ? op->getOperand(index).getType() : op->getResult(index - numOperands).getType();
}

const TensorRule &OperationPlacements::getRule(unsigned index) const {
  unsigned numOperands = op->getNumOperands();
  return index < numOperands ? rule->operands[index] : rule->results[index - numOperands];
}

/// Gives a tensor that has the factor its digit.
bool OperationPlacements::splitTensor(Axis axis, const TensorSplit &part, Placement &placement,
                                      ArrayRef<int64_t> shape) const {
  Placement before = placement;
  if (!placement.insert(part.dim, {axis, part.extent, part.stride}) || !isNested(placement, shape) ||
      !keepsDigits(before, placement, shape))
    return false;
  // The digit has to mean the factor, alone and under the others.
  Placement alone = Placement::replicated(shape.size());
  alone.dims[part.dim].push_back({axis, part.extent, part.stride});
  return keepsDigits(alone, placement, shape);
}

/// No reduction adds booleans, or combines the bits of floats.
bool OperationPlacements::owe(Axis axis, ReduceKind kind, Type type, Placement &placement) {
  Type element = getElementTypeOrSelf(type);
  bool isBitwise = kind == ReduceKind::And || kind == ReduceKind::Or;
  if (isBitwise ? !isa<IntegerType>(element) : element.isInteger(1))
    return false;
  if (!placement.partialAxes.empty() && placement.partialKind != kind)
    return false;
  placement.partialKind = kind;
  placement.partialAxes.push_back(axis);
  llvm::sort(placement.partialAxes);
  return true;
}

std::optional<bool> OperationPlacements::split(Axis axis, const FactorSplit &split) {
  const FactorInfo &info = rule->factors[split.factor];
  int64_t n = mesh->getSize(axis);
  std::vector<Placement> next = placements;
  bool isUneven = false;
  for (auto [index, placement] : llvm::enumerate(next)) {
    TensorSplit part = toTensorSplit(getRule(index), split, n);
    if (part.kind == TensorSplit::Kind::Illegal)
      return std::nullopt;
    if (part.kind == TensorSplit::Kind::Present) {
      if (!splitTensor(axis, part, placement, shapeOf(getType(index))))
        return std::nullopt;
      isUneven |= part.extent != part.stride * n;
    } else if (index >= op->getNumOperands() || llvm::is_contained(info.partialOperands, index)) {
      if (!owe(axis, info.reduction, getType(index), placement))
        return std::nullopt;
    }
  }
  if (isUneven && !info.uneven)
    return std::nullopt;
  placements = std::move(next);
  return isUneven;
}

bool OperationPlacements::pass(Axis axis, const PartialRule &partial) {
  std::vector<Placement> next = placements;
  for (unsigned operand : partial.operands)
    if (!owe(axis, partial.kind, getType(operand), next[operand]))
      return false;
  for (unsigned index = op->getNumOperands(); index < next.size(); ++index)
    if (!owe(axis, partial.kind, getType(index), next[index]))
      return false;
  placements = std::move(next);
  return true;
}

void OperationPlacements::hold(Axis axis, int64_t holder) {
  for (Placement &placement : placements)
    placement.setHolder(axis, holder);
}

bool OperationPlacements::followRule() const {
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  ArrayRef<Placement> all(placements);
  return succeeded(checkRule(*rule, *mesh, all.take_front(op->getNumOperands()), all.drop_front(op->getNumOperands()),
                             [&] { return op->emitOpError(); }));
}

void OperationPlacements::annotate(ArrayRef<Placement> results) const {
  SmallVector<Attribute> operands, computes, left;
  auto toAttr = [&](const Placement &placement, Type type) {
    return placement.toAttr(op->getContext(), *mesh, shapeOf(type));
  };
  for (auto [index, value] : llvm::enumerate(op->getOperands()))
    operands.push_back(toAttr(operand(index), value.getType()));
  for (auto [index, value] : llvm::enumerate(op->getResults())) {
    computes.push_back(toAttr(result(index), value.getType()));
    left.push_back(toAttr(results[index], value.getType()));
  }
  Builder builder(op->getContext());
  kOperandsAttr.set(op, builder.getArrayAttr(operands));
  kComputesAttr.set(op, builder.getArrayAttr(computes));
  kResultsAttr.set(op, builder.getArrayAttr(left));
}

static bool isOneOfMany(Operation *op, size_t operand) { return operand != 0 && isa<net::ConcatenateOp>(op); }

std::string test::describeRole(Operation *op, const ShardingRule &rule, unsigned factor) {
  auto has = [&](const TensorRule &tensor) {
    return llvm::any_of(tensor.dims, [&](const auto &uses) {
      return llvm::any_of(uses, [&](const FactorUse &use) { return use.factor == factor; });
    });
  };
  std::string role = op->getName().getStringRef().str() + ":";
  for (auto [index, tensor] : llvm::enumerate(rule.operands))
    if (has(tensor) && !isOneOfMany(op, index))
      role += " o" + std::to_string(index);
  for (auto [index, tensor] : llvm::enumerate(rule.results))
    if (has(tensor))
      role += " r" + std::to_string(index);
  return role;
}

std::string test::describePartial(Operation *op, const PartialRule &partial) {
  std::string text = (op->getName().getStringRef() + " " + stringifyReduceKind(partial.kind) + ":").str();
  for (unsigned operand : partial.operands)
    if (!isOneOfMany(op, operand))
      text += " o" + std::to_string(operand);
  return text;
}
