//===- CountedLoop.cpp - recognition of loops with a constant iteration count --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/CountedLoop.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;
using llvm::APSInt;

static Operation *getReturn(Region &region) {
  if (!region.hasOneBlock() || region.front().empty())
    return nullptr;
  Operation *end = &region.front().back();
  return end->getName().getStringRef() == "stablehlo.return" ? end : nullptr;
}

/// True if both regions take all values, the condition returns one value and the body returns all.
bool CountedLoop::hasForm() const {
  if (op->getNumRegions() != 2 || op->getOperandTypes() != op->getResultTypes())
    return false;
  Operation *condition = getReturn(op->getRegion(0)), *next = getReturn(op->getRegion(1));
  return condition && next && condition->getNumOperands() == 1 && next->getOperandTypes() == op->getOperandTypes() &&
         llvm::all_of(op->getRegions(),
                      [&](Region &region) { return region.getArgumentTypes() == op->getOperandTypes(); });
}

std::optional<APSInt> importer::getInteger(Value value) {
  Operation *constant = value.getDefiningOp();
  if (!constant || constant->getName().getStringRef() != "stablehlo.constant")
    return std::nullopt;
  auto elements = constant->getAttrOfType<DenseIntElementsAttr>("value");
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return APSInt(*elements.value_begin<APInt>(), elements.getElementType().isUnsignedInteger());
}

/// The integer that `value` has in every iteration, if it is one constant.
std::optional<APSInt> CountedLoop::getConstant(Value value) const {
  // A value that the body returns unchanged keeps its initial value.
  if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner()->getParentOp() == op) {
    unsigned index = argument.getArgNumber();
    if (getNext(index) != getBody().getArgument(index))
      return std::nullopt;
    value = op->getOperand(index);
  }
  return getInteger(value);
}

/// Evaluates a comparison with a direction of StableHLO.
static bool holds(StringRef direction, const APSInt &x, const APSInt &y) {
  return direction == "LT"   ? x < y
         : direction == "LE" ? x <= y
         : direction == "GT" ? x > y
         : direction == "GE" ? x >= y
         : direction == "NE" ? x != y
                             : x == y;
}

static bool haveOneType(const APSInt &x, const APSInt &y) {
  return x.getBitWidth() == y.getBitWidth() && x.isUnsigned() == y.isUnsigned();
}

/// Finds the counter, its bound and its step.
bool CountedLoop::findCounter() {
  Operation *compare = op->getRegion(0).front().back().getOperand(0).getDefiningOp();
  if (!compare || compare->getName().getStringRef() != "stablehlo.compare" || compare->getNumOperands() != 2)
    return false;
  auto word = compare->getAttrOfType<StringAttr>("comparison_direction");
  auto argument = dyn_cast<BlockArgument>(compare->getOperand(0));
  std::optional<APSInt> limit = getConstant(compare->getOperand(1));
  if (!word || !argument || argument.getOwner() != &op->getRegion(0).front() || !limit)
    return false;
  counter = argument.getArgNumber();
  Operation *add = getNext(counter).getDefiningOp();
  if (!add || add->getName().getStringRef() != "stablehlo.add" || add->getNumOperands() != 2)
    return false;
  Value mine = getBody().getArgument(counter);
  if (!llvm::is_contained(add->getOperands(), mine))
    return false;
  std::optional<APSInt> growth = getConstant(add->getOperand(add->getOperand(0) == mine ? 1 : 0));
  std::optional<APSInt> start = getInteger(op->getOperand(counter));
  if (!growth || !start || !haveOneType(*start, *growth) || !haveOneType(*start, *limit))
    return false;
  direction = word.getValue();
  first = *start;
  step = *growth;
  bound = *limit;
  return true;
}

/// Counts iterations by executing the counter, so that overflow behaves as in the loop; false if there are too many.
bool CountedLoop::countIterations() {
  for (APSInt value = first; holds(direction, value, bound); value += step)
    if (++iterations > kMaxIterations)
      return false;
  return true;
}

std::optional<CountedLoop> CountedLoop::create(Operation *op) {
  CountedLoop loop(op);
  if (!loop.hasForm()) {
    op->emitError() << "stablehlo.while of " << op->getNumOperands()
                    << " values needs two regions that take them; the first returns one value, the second all";
    return std::nullopt;
  }
  if (!loop.findCounter()) {
    op->emitError() << "stablehlo.while does not count from a constant to a constant in constant steps; its iteration "
                       "count has to be known";
    return std::nullopt;
  }
  if (!loop.countIterations()) {
    op->emitError() << "stablehlo.while runs more than " << kMaxIterations << " times";
    return std::nullopt;
  }
  return loop;
}

int64_t CountedLoop::countOperations() const {
  int64_t operations = 0;
  for (Operation &inner : getBodyOperations())
    inner.walk([&](Operation *) { ++operations; });
  return operations;
}
