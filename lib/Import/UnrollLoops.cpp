//===- UnrollLoops.cpp - counted loops become straight code ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frameworks roll up short loops: JAX prints the twenty rounds of threefry as five trips of four. Written out,
// constants that a trip hands to the next fold, and the rounds of one element are one kernel. How often a loop runs is
// counted as the loop itself counts; what decides otherwise than by a counter is known at run time only.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "meshwright/Import/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_UNROLLLOOPSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

/// What one loop and what all loops together may make.
static constexpr int64_t kMaxOperations = 10'000, kMaxOperationsOfAll = 10'000'000;

namespace {

/// A `stablehlo.while` whose regions have the form that it asks for.
struct Loop {
  Operation *op;
  Block &condition, &body;

  /// Checks the form and emits an error if it is another.
  static std::optional<Loop> create(Operation *op);

  /// All but what returns, which is of a dialect that does not say so.
  auto getBodyOperations() const { return llvm::make_range(body.begin(), std::prev(body.end())); }
  /// The integer that `value` has in every trip, if it is one constant.
  std::optional<APSInt> getConstant(Value value) const;
  /// How often the body runs; nothing if that is not counted, one more than the bound if it is more.
  std::optional<int64_t> countTrips() const;
  /// The number of operations in the body, those of its regions included.
  int64_t countOperations() const;
  void unroll(int64_t trips);
};

} // namespace

static Operation *getReturn(Region &region) {
  if (!region.hasOneBlock() || region.front().empty())
    return nullptr;
  Operation *end = &region.front().back();
  return end->getName().getStringRef() == "stablehlo.return" ? end : nullptr;
}

std::optional<Loop> Loop::create(Operation *op) {
  bool hasForm = op->getNumRegions() == 2 && op->getOperandTypes() == op->getResultTypes();
  for (Region &region : op->getRegions()) {
    Operation *end = getReturn(region);
    hasForm =
        hasForm && end && region.getArgumentTypes() == op->getOperandTypes() &&
        (&region == &op->getRegion(0) ? end->getNumOperands() == 1 : end->getOperandTypes() == op->getOperandTypes());
  }
  if (hasForm)
    return Loop{op, op->getRegion(0).front(), op->getRegion(1).front()};
  op->emitError() << "stablehlo.while of " << op->getNumOperands()
                  << " values has not two regions that take them and return one and all of them";
  return std::nullopt;
}

std::optional<APSInt> Loop::getConstant(Value value) const {
  // What the body hands on as it came is what the loop started with.
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && (argument.getOwner() == &condition || argument.getOwner() == &body)) {
    unsigned index = argument.getArgNumber();
    if (body.back().getOperand(index) != body.getArgument(index))
      return std::nullopt;
    value = op->getOperand(index);
  }
  Operation *constant = value.getDefiningOp();
  if (!constant || constant->getName().getStringRef() != "stablehlo.constant")
    return std::nullopt;
  auto elements = constant->getAttrOfType<DenseIntElementsAttr>("value");
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return APSInt(*elements.value_begin<APInt>(), elements.getElementType().isUnsignedInteger());
}

/// Whether the comparison holds, in the words of StableHLO.
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

std::optional<int64_t> Loop::countTrips() const {
  Operation *compare = condition.back().getOperand(0).getDefiningOp();
  if (!compare || compare->getName().getStringRef() != "stablehlo.compare" || compare->getNumOperands() != 2)
    return std::nullopt;
  auto direction = compare->getAttrOfType<StringAttr>("comparison_direction");
  auto counter = dyn_cast<BlockArgument>(compare->getOperand(0));
  std::optional<APSInt> bound = getConstant(compare->getOperand(1));
  if (!direction || !counter || counter.getOwner() != &condition || !bound)
    return std::nullopt;
  Operation *add = body.back().getOperand(counter.getArgNumber()).getDefiningOp();
  if (!add || add->getName().getStringRef() != "stablehlo.add" || add->getNumOperands() != 2)
    return std::nullopt;
  Value mine = body.getArgument(counter.getArgNumber());
  Value other = add->getOperand(add->getOperand(0) == mine ? 1 : 0);
  if (!llvm::is_contained(add->getOperands(), mine))
    return std::nullopt;
  std::optional<APSInt> step = getConstant(other);
  Operation *first = op->getOperand(counter.getArgNumber()).getDefiningOp();
  std::optional<APSInt> value = first ? getConstant(first->getResult(0)) : std::nullopt;
  if (!step || !value || !haveOneType(*value, *step) || !haveOneType(*value, *bound))
    return std::nullopt;
  int64_t trips = 0;
  for (; trips <= kMaxOperations && holds(direction.getValue(), *value, *bound); ++trips)
    *value += *step;
  return trips;
}

int64_t Loop::countOperations() const {
  int64_t operations = 0;
  for (Operation &inner : getBodyOperations())
    inner.walk([&](Operation *) { ++operations; });
  return operations;
}

void Loop::unroll(int64_t trips) {
  OpBuilder builder(op);
  SmallVector<Value> values(op->getOperands());
  for (int64_t trip = 0; trip < trips; ++trip) {
    IRMapping mapping;
    mapping.map(body.getArguments(), values);
    for (Operation &inner : getBodyOperations())
      builder.clone(inner, mapping);
    for (auto [value, next] : llvm::zip_equal(values, body.back().getOperands()))
      value = mapping.lookupOrDefault(next);
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

/// Unrolls the loop and returns how many operations that made.
static FailureOr<int64_t> unroll(Operation *op) {
  std::optional<Loop> loop = Loop::create(op);
  if (!loop)
    return failure();
  std::optional<int64_t> trips = loop->countTrips();
  if (!trips)
    return op->emitError()
           << "stablehlo.while does not count from a constant to a constant in constant steps; how often "
              "it runs has to be known";
  int64_t operations = loop->countOperations();
  if (*trips > kMaxOperations || *trips * operations > kMaxOperations)
    return op->emitError() << "stablehlo.while runs " << operations << " operations "
                           << (*trips > kMaxOperations ? "more than " : "") << std::min(*trips, kMaxOperations)
                           << " times; loops are written out, up to " << kMaxOperations << " operations";
  loop->unroll(*trips);
  return *trips * operations;
}

namespace {

struct UnrollLoops : importer::impl::UnrollLoopsPassBase<UnrollLoops> {
  void runOnOperation() override {
    // Inner loops first, so that what the outer one repeats is straight code.
    SmallVector<Operation *> loops;
    getOperation().walk([&](Operation *op) {
      if (op->getName().getStringRef() == "stablehlo.while")
        loops.push_back(op);
    });
    int64_t sum = 0;
    for (Operation *op : loops) {
      Location loc = op->getLoc();
      FailureOr<int64_t> made = unroll(op);
      if (failed(made))
        return signalPassFailure();
      sum += *made;
      if (sum > kMaxOperationsOfAll) {
        emitError(loc) << "writing out loops makes more than " << kMaxOperationsOfAll << " operations";
        return signalPassFailure();
      }
      ++numUnrolled;
    }
  }
};

} // namespace
