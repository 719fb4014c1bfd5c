//===- RollLoops.cpp - conversion of counted loops to net.loop ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frameworks write a scan as a loop that reads element i of its input by a dynamic slice and writes element i of its
// output by an update of a slice. Both are recognized by their index, which is a linear function of the iteration
// number.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/StableHLO/CountedLoop.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;
using llvm::APSInt;

namespace {

/// The value `start` + `slope` · n of a scalar in the n-th executed iteration, n = 0, 1, ….
struct Linear {
  int64_t start = 0, slope = 0;
};

/// Converts one loop to operations between `net.loop` and `net.end_loop`.
class Roller : public OpBuilder::Listener {
public:
  explicit Roller(const CountedLoop &loop)
      : loop(loop), op(loop.getOp()), builder(op, this), carried(op->getNumOperands()) {}

  void run();

private:
  std::optional<Linear> evaluate(Value value) const;
  std::optional<bool> evaluateCompare(Operation *compare) const;
  std::optional<bool> getDirection(Value index, int64_t extent) const;
  std::optional<bool> getElementDirection(Operation *access, unsigned firstIndex, RankedTensorType part) const;
  std::optional<bool> getUpdateDirection(unsigned index) const;
  void replaceInvariants();
  bool findDirection() const;
  Value createConstant(const APSInt &number);
  Value countUp();
  void takeElements();
  void carry(ArrayRef<bool> stacked);
  void moveBody();
  Value leave(unsigned index, bool isStacked);
  void notifyOperationInserted(Operation *made, OpBuilder::InsertPoint) override;

  const CountedLoop &loop;
  Operation *op;
  OpBuilder builder;
  net::LoopOp begin;
  bool reverse = false;
  /// The `net.carry` of each value that iterations pass on.
  SmallVector<Value> carried;
};

} // namespace

/// Gives every built operation the scope and role of the loop.
void Roller::notifyOperationInserted(Operation *made, OpBuilder::InsertPoint) {
  addAttributes(made, getInherited(op, Inherit::Companion));
}

static StringRef nameOf(Operation *op) { return op ? op->getName().getStringRef() : StringRef(); }

/// The result of the comparison if it is the same in all iterations.
std::optional<bool> Roller::evaluateCompare(Operation *compare) const {
  auto word = compare->getAttrOfType<StringAttr>("comparison_direction");
  if (nameOf(compare) != "stablehlo.compare" || compare->getNumOperands() != 2 || !word)
    return std::nullopt;
  std::optional<Linear> lhs = evaluate(compare->getOperand(0)), rhs = evaluate(compare->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  // A linear function that has one sign at both ends has it in between.
  int64_t first = lhs->start - rhs->start, last = first + (lhs->slope - rhs->slope) * (loop.getIterations() - 1);
  auto holds = [&](auto relation) -> std::optional<bool> {
    return relation(first) == relation(last) ? std::optional<bool>(relation(first)) : std::nullopt;
  };
  if (word == "LT")
    return holds([](int64_t x) { return x < 0; });
  if (word == "LE")
    return holds([](int64_t x) { return x <= 0; });
  if (word == "GT")
    return holds([](int64_t x) { return x > 0; });
  if (word == "GE")
    return holds([](int64_t x) { return x >= 0; });
  return std::nullopt;
}

/// The value of a scalar of the body in every iteration, if it is a linear function with small coefficients.
std::optional<Linear> Roller::evaluate(Value value) const {
  static constexpr int64_t kLargest = int64_t(1) << 30;
  auto bounded = [&](std::optional<Linear> form) {
    // With this bound 32-bit arithmetic does not wrap around; JAX counts in 32 bits or more.
    bool isSmall = form && std::abs(form->start) < kLargest && std::abs(form->slope) < kLargest &&
                   std::abs(form->start + form->slope * loop.getIterations()) < kLargest;
    return isSmall ? form : std::nullopt;
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 0 || !type.getElementType().isIntOrIndex() || type.getElementTypeBitWidth() < 32)
    return std::nullopt;
  auto isSmallNumber = [](const APSInt &number) { return number.getSignificantBits() <= 31; };
  if (value == loop.getBody().getArgument(loop.getCounter())) {
    if (!isSmallNumber(loop.getFirst()) || !isSmallNumber(loop.getStep()))
      return std::nullopt;
    return bounded(Linear{loop.getFirst().getExtValue(), loop.getStep().getExtValue()});
  }
  if (std::optional<APSInt> number = getInteger(value))
    return isSmallNumber(*number) ? bounded(Linear{number->getExtValue(), 0}) : std::nullopt;
  Operation *maker = value.getDefiningOp();
  StringRef name = nameOf(maker);
  if (name == "stablehlo.convert" && maker->getNumOperands() == 1)
    return evaluate(maker->getOperand(0));
  if (name == "stablehlo.select" && maker->getNumOperands() == 3) {
    Operation *compare = maker->getOperand(0).getDefiningOp();
    std::optional<bool> holds = compare ? evaluateCompare(compare) : std::nullopt;
    return holds ? evaluate(maker->getOperand(*holds ? 1 : 2)) : std::nullopt;
  }
  bool adds = name == "stablehlo.add";
  if ((!adds && name != "stablehlo.subtract") || maker->getNumOperands() != 2)
    return std::nullopt;
  std::optional<Linear> lhs = evaluate(maker->getOperand(0)), rhs = evaluate(maker->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  int64_t sign = adds ? 1 : -1;
  return bounded(Linear{lhs->start + sign * rhs->start, lhs->slope + sign * rhs->slope});
}

/// The direction in which `index` visits `extent` elements, one per iteration: true from the last to the first, false
/// from the first to the last; empty if it does neither.
std::optional<bool> Roller::getDirection(Value index, int64_t extent) const {
  std::optional<Linear> form = evaluate(index);
  if (!form || extent != loop.getIterations())
    return std::nullopt;
  if (form->start == 0 && form->slope == 1)
    return false;
  if (form->start == extent - 1 && (form->slope == -1 || extent == 1))
    return true;
  return std::nullopt;
}

/// The direction in which `access` visits the elements along the first dimension of its first operand, reading or
/// writing `part`, a whole element. Its indices are its operands from `firstIndex` on.
std::optional<bool> Roller::getElementDirection(Operation *access, unsigned firstIndex, RankedTensorType part) const {
  auto whole = dyn_cast<RankedTensorType>(access->getOperand(0).getType());
  if (!whole || !part || whole.getRank() == 0 || part.getRank() != whole.getRank() || part.getDimSize(0) != 1 ||
      part.getShape().drop_front() != whole.getShape().drop_front() ||
      access->getNumOperands() != firstIndex + whole.getRank())
    return std::nullopt;
  return getDirection(access->getOperand(firstIndex), whole.getDimSize(0));
}

/// The direction of the update that computes value `index` for the next iteration, if that value has no other use.
std::optional<bool> Roller::getUpdateDirection(unsigned index) const {
  Operation *update = loop.getNext(index).getDefiningOp();
  Value before = loop.getBody().getArgument(index);
  if (nameOf(update) != "stablehlo.dynamic_update_slice" || update->getNumOperands() < 2 ||
      update->getNumResults() != 1 || update->getOperand(0) != before || !before.hasOneUse() ||
      !update->getResult(0).hasOneUse())
    return std::nullopt;
  return getElementDirection(update, 2, dyn_cast<RankedTensorType>(update->getOperand(1).getType()));
}

/// Replaces loop-invariant values by their initial values.
void Roller::replaceInvariants() {
  for (BlockArgument argument : loop.getBody().getArguments())
    if (loop.getNext(argument.getArgNumber()) == argument) {
      Value init = op->getOperand(argument.getArgNumber());
      argument.replaceAllUsesWith(init);
      op->getResult(argument.getArgNumber()).replaceAllUsesWith(init);
    }
}

/// True if the loop visits stacks from the last element to the first, as its first recognized access does.
bool Roller::findDirection() const {
  for (Operation &inner : loop.getBodyOperations())
    if (nameOf(&inner) == "stablehlo.dynamic_slice" && inner.getNumOperands() > 0 && inner.getNumResults() == 1)
      if (auto direction = getElementDirection(&inner, 1, dyn_cast<RankedTensorType>(inner.getResult(0).getType())))
        return *direction;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (std::optional<bool> direction = getUpdateDirection(index))
      return *direction;
  return false;
}

/// `number` · `count`, wrapping around in the type of `number`.
static APSInt times(const APSInt &number, int64_t count) {
  APInt factor(number.getBitWidth(), count, /*isSigned=*/false, /*implicitTrunc=*/true);
  return number * APSInt(factor, number.isUnsigned());
}

/// A constant of the counter's type.
Value Roller::createConstant(const APSInt &number) {
  auto type = cast<RankedTensorType>(op->getOperand(loop.getCounter()).getType());
  return net::ConstantOp::create(builder, op->getLoc(), type, DenseElementsAttr::get(type, static_cast<APInt>(number)));
}

/// Computes the counter of the original loop from the iteration number.
Value Roller::countUp() {
  APSInt first = loop.getFirst(), step = loop.getStep();
  if (reverse) {
    first += times(step, loop.getIterations() - 1);
    step = -step;
  }
  net::NetBuilder build(builder, op->getLoc());
  Type element = cast<RankedTensorType>(op->getOperand(loop.getCounter()).getType()).getElementType();
  Value number = build.convert(begin.getIndex(), element);
  Value grown = step.isOne() ? number : build.multiply(number, createConstant(step));
  return first.isZero() ? grown : build.add(grown, createConstant(first));
}

/// Replaces dynamic slices of this iteration's element of a stack from before the loop by `net.take`.
void Roller::takeElements() {
  for (Operation &inner : llvm::make_early_inc_range(loop.getBodyOperations())) {
    if (nameOf(&inner) != "stablehlo.dynamic_slice" || inner.getNumOperands() == 0 || inner.getNumResults() != 1)
      continue;
    Value stack = inner.getOperand(0);
    auto type = dyn_cast<RankedTensorType>(inner.getResult(0).getType());
    bool isBefore = stack.getParentBlock() != &loop.getBody();
    if (!isBefore || getElementDirection(&inner, 1, type) != reverse)
      continue;
    OpBuilder place(&inner);
    place.setListener(this);
    auto element = type.clone(type.getShape().drop_front());
    Value taken = net::TakeOp::create(place, inner.getLoc(), element, stack, begin.getIndex());
    inner.getResult(0).replaceAllUsesWith(net::ReshapeOp::create(place, inner.getLoc(), type, taken));
    inner.erase();
  }
}

/// Replaces the arguments of the body by carried values, and the counter by its value.
void Roller::carry(ArrayRef<bool> stacked) {
  for (auto [index, argument] : llvm::enumerate(loop.getBody().getArguments())) {
    if (stacked[index])
      continue;
    if (index == loop.getCounter()) {
      argument.replaceAllUsesWith(countUp());
      continue;
    }
    if (argument.use_empty() && op->getResult(index).use_empty())
      continue;
    carried[index] =
        net::CarryOp::create(builder, op->getLoc(), argument.getType(), op->getOperand(index), begin.getIndex());
    argument.replaceAllUsesWith(carried[index]);
  }
}

/// Moves the operations of the body before the loop.
void Roller::moveBody() {
  Block &body = loop.getBody();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations(), body.begin(),
                                         body.back().getIterator());
}

/// The value of loop result `index` after the loop, or null if it is unused.
Value Roller::leave(unsigned index, bool isStacked) {
  Value next = loop.getNext(index);
  auto type = cast<RankedTensorType>(next.getType());
  if (isStacked) {
    Value part = next.getDefiningOp()->getOperand(1);
    net::NetBuilder build(builder, op->getLoc());
    Value element = build.reshape(part, type.getShape().drop_front());
    return net::StackOp::create(builder, op->getLoc(), type, element, begin.getIndex());
  }
  if (index == loop.getCounter())
    return createConstant(loop.getFirst() + times(loop.getStep(), loop.getIterations()));
  return carried[index] ? Value(net::NextOp::create(builder, op->getLoc(), type, next, carried[index])) : Value();
}

void Roller::run() {
  replaceInvariants();
  reverse = findDirection();
  begin = net::LoopOp::create(builder, op->getLoc(), loop.getIterations(), reverse);
  takeElements();
  // The directions depend on the counter, so they are computed before the counter is replaced.
  SmallVector<bool> stacked(op->getNumOperands());
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    stacked[index] = getUpdateDirection(index) == reverse;
  carry(stacked);
  moveBody();
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (Value value = leave(index, stacked[index]))
      op->getResult(index).replaceAllUsesWith(value);
  net::EndLoopOp::create(builder, op->getLoc(), begin.getIndex());
  // The updates that became stacks still read arguments of the body, so they are erased with the loop.
  SmallVector<Operation *> updates;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (stacked[index])
      updates.push_back(loop.getNext(index).getDefiningOp());
  loop.getBody().back().erase();
  for (Operation *update : updates)
    update->erase();
  op->erase();
}

void importer::roll(const CountedLoop &loop) { Roller(loop).run(); }
