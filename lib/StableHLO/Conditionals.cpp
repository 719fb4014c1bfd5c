//===- Conditionals.cpp - conditionals as selections among all branches ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes all branches and selects among their results: values have no effects, and all ranks do the same operations
// whatever the data is, so that collectives may appear anywhere. A constant predicate selects its branch at compile
// time.
//
// Floats from outside enter a branch through a selection between the value and 1. A gradient that passes through a
// branch that is not taken becomes zero there, even if zero times infinity occurs further inside, as in JAX's gradient
// of a conditional.
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/CountedLoop.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/StableHLO/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_CONDITIONALSPASS
#include "meshwright/StableHLO/Passes.h.inc"
} // namespace meshwright::importer

/// Checks that `op` takes one scalar of `width` bits, and that every branch returns its results.
static LogicalResult verifyForm(Operation *op, unsigned width) {
  auto type = op->getNumOperands() == 1 ? dyn_cast<RankedTensorType>(op->getOperand(0).getType()) : RankedTensorType();
  if (!type || type.getRank() != 0 || !type.getElementType().isInteger(width))
    return op->emitError() << op->getName() << " does not choose by one scalar of " << width
                           << (width == 1 ? " bit" : " bits");
  bool isIf = width == 1;
  if (op->getNumRegions() == 0 || (isIf && op->getNumRegions() != 2))
    return op->emitError() << op->getName() << " has " << op->getNumRegions() << " branches";
  for (Region &region : op->getRegions()) {
    bool isBranch = region.hasOneBlock() && region.getNumArguments() == 0 && !region.front().empty();
    Operation *end = isBranch ? &region.front().back() : nullptr;
    if (!end || end->getName().getStringRef() != "stablehlo.return" || end->getOperandTypes() != op->getResultTypes())
      return op->emitError() << "branch " << region.getRegionNumber() << " of " << op->getName()
                             << " does not return the operation's " << op->getNumResults() << " results";
  }
  return success();
}

namespace {

/// Replaces one `stablehlo.if` or `stablehlo.case` by its branches and selections.
class Chooser {
public:
  explicit Chooser(Operation *op) : op(op), builder(op), isIf(op->getName().getStringRef() == "stablehlo.if") {}

  LogicalResult run();

private:
  Value create(StringRef name, Type type, ValueRange operands, ArrayRef<NamedAttribute> attributes = {});
  Value isBranch(unsigned branch);
  Value isTaken(unsigned branch);
  void guard(unsigned branch);
  std::optional<unsigned> getKnownBranch();
  SmallVector<Value> moveOut(unsigned branch);

  Operation *op;
  OpBuilder builder;
  bool isIf;
};

} // namespace

/// Creates an operation at the place of the replaced one, with its scope and role.
Value Chooser::create(StringRef name, Type type, ValueRange operands, ArrayRef<NamedAttribute> attributes) {
  OperationState state(op->getLoc(), name, operands, type, attributes);
  Operation *made = builder.create(state);
  addAttributes(made, getInherited(op, Inherit::Companion));
  return made->getResult(0);
}

/// An i1 value: true if `branch` is chosen by its own number.
Value Chooser::isBranch(unsigned branch) {
  Value chosen = op->getOperand(0);
  // The first branch of an `if` is the one for true.
  if (isIf)
    return chosen;
  auto type = cast<RankedTensorType>(chosen.getType());
  Value number = create("stablehlo.constant", type, {},
                        builder.getNamedAttr("value", DenseElementsAttr::get(type, APInt(32, branch))));
  return create("stablehlo.compare", type.clone(builder.getI1Type()), {chosen, number},
                builder.getNamedAttr("comparison_direction", builder.getStringAttr("EQ")));
}

/// An i1 value: true if `branch` is taken. The last branch is also taken for all numbers without a branch.
Value Chooser::isTaken(unsigned branch) {
  if (branch != op->getNumRegions() - 1)
    return isBranch(branch);
  Value isOther = isBranch(0);
  for (unsigned other = 1; other < branch; ++other)
    isOther = create("stablehlo.or", isOther.getType(), {isOther, isBranch(other)});
  return create("stablehlo.not", isOther.getType(), isOther);
}

/// Replaces the floats from outside, except constants, by 1 in `branch` where it is not taken. Leaves values that the
/// branch only returns.
void Chooser::guard(unsigned branch) {
  Region &region = op->getRegion(branch);
  Operation *end = &region.front().back();
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(region, outside);
  Value taken;
  for (Value value : outside) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Operation *maker = value.getDefiningOp();
    auto isComputedWith = [&](OpOperand &use) {
      return use.getOwner() != end && region.isAncestor(use.getOwner()->getParentRegion());
    };
    if (!type || !isa<FloatType>(type.getElementType()) || llvm::none_of(value.getUses(), isComputedWith) ||
        (maker && maker->getName().getStringRef() == "stablehlo.constant"))
      continue;
    if (!taken)
      taken = isTaken(branch);
    auto ones = DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), 1));
    Value one = create("stablehlo.constant", type, {}, builder.getNamedAttr("value", ones));
    value.replaceUsesWithIf(create("stablehlo.select", type, {taken, value, one}), isComputedWith);
  }
}

/// The branch that a constant predicate chooses; the last one for numbers without a branch.
std::optional<unsigned> Chooser::getKnownBranch() {
  std::optional<llvm::APSInt> number = getInteger(op->getOperand(0));
  if (!number)
    return std::nullopt;
  if (isIf)
    return number->isZero() ? 1 : 0;
  unsigned last = op->getNumRegions() - 1;
  return number->ult(last) ? static_cast<unsigned>(number->getZExtValue()) : last;
}

/// Moves the operations of a branch before the conditional and returns the branch's results.
SmallVector<Value> Chooser::moveOut(unsigned branch) {
  Block &block = op->getRegion(branch).front();
  SmallVector<Value> results(block.back().getOperands());
  op->getBlock()->getOperations().splice(op->getIterator(), block.getOperations(), block.begin(),
                                         block.back().getIterator());
  return results;
}

LogicalResult Chooser::run() {
  if (failed(verifyForm(op, isIf ? 1 : 32)))
    return failure();
  SmallVector<Value> results;
  if (std::optional<unsigned> known = getKnownBranch()) {
    results = moveOut(*known);
  } else {
    // A single branch is always taken and needs no guard.
    for (unsigned branch = 0; op->getNumRegions() > 1 && branch < op->getNumRegions(); ++branch)
      guard(branch);
    // The last branch is the default, so its results start the chain of selections.
    results = moveOut(op->getNumRegions() - 1);
    for (int branch = static_cast<int>(op->getNumRegions()) - 2; branch >= 0; --branch) {
      SmallVector<Value> mine = moveOut(branch);
      Value isMine = isBranch(branch);
      for (auto [result, value] : llvm::zip_equal(results, mine))
        result = create("stablehlo.select", value.getType(), {isMine, value, result});
    }
  }
  op->replaceAllUsesWith(results);
  op->erase();
  return success();
}

namespace {

struct Conditionals : importer::impl::ConditionalsPassBase<Conditionals> {
  void runOnOperation() override {
    // Post-order: inner conditionals are straight code before outer ones are replaced.
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      if (name == "stablehlo.if" || name == "stablehlo.case")
        found.push_back(op);
    });
    for (Operation *op : found) {
      if (failed(Chooser(op).run()))
        return signalPassFailure();
      ++numReplaced;
    }
  }
};

} // namespace
