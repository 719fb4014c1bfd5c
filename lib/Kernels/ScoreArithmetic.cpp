//===- ScoreArithmetic.cpp - the arithmetic of a kernel of scores ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor cores leave sums of f32 in registers. A network of 16-bit floats rounds them, and everything computed of them,
// since its values lie in memory; here that would only cost instructions.
//
//===----------------------------------------------------------------------===//

#include "ScoreArithmetic.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Traits.h"
#include "meshwright/Kernels/ScorePlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using net::typeOf;

namespace {

class Widener {
public:
  explicit Widener(Block &body) : body(body) {}
  void run();

private:
  void widenResult(Operation *op);
  void widen(Operation *op);
  void narrow(Operation *op);

  Block &body;
  /// Values that depend on a product.
  llvm::DenseSet<Value> dependent;
  /// Values that had 16-bit floats and have f32 now, with their old element types.
  llvm::DenseMap<Value, Type> widened;
};

} // namespace

void Widener::widenResult(Operation *op) {
  Value result = op->getResult(0);
  Type element = typeOf(result).getElementType();
  if (!isShortFloat(element))
    return;
  widened[result] = element;
  result.setType(typeOf(result).clone(Float32Type::get(op->getContext())));
}

/// Gives `op` operands and a result of f32 where it has 16-bit floats.
void Widener::widen(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isShortFloat(typeOf(operand.get()).getElementType()))
      operand.set(net::NetBuilder(builder, op->getLoc()).convert(operand.get(), builder.getF32Type()));
  widenResult(op);
}

/// Gives `op` operands of the types that it had.
void Widener::narrow(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    if (auto known = widened.find(operand.get()); known != widened.end())
      operand.set(net::NetBuilder(builder, op->getLoc()).convert(operand.get(), known->second));
}

void Widener::run() {
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    bool isDependent = llvm::any_of(op.getOperands(), [&](Value operand) { return dependent.contains(operand); });
    bool isScore = isa<net::DotOp>(op) && !isDependent,
         isPlain = op.getNumResults() == 1 && !isa<net::BitcastConvertOp>(op) &&
                   (op.hasTrait<OpTrait::Elementwise>() || net::getMovement(&op).has_value());
    if (isScore)
      widenResult(&op);
    else if (isDependent && isPlain)
      widen(&op);
    else
      narrow(&op);
    if (isScore || isDependent)
      dependent.insert(op.result_begin(), op.result_end());
  }
}

/// Conversions of a type to itself.
static void dropConversions(Block &body) {
  for (auto convert : llvm::make_early_inc_range(body.getOps<net::ConvertOp>()))
    if (convert.getOperand().getType() == convert.getResult().getType()) {
      convert.getResult().replaceAllUsesWith(convert.getOperand());
      convert.erase();
    }
}

namespace {

/// Follows the sums of kernels of scores through the program.
class SumReaders {
public:
  explicit SumReaders(ArrayRef<dist::KernelOp> kernels) : kernels(kernels) {}

  /// True if something as large as scores is made of one outside of these kernels.
  bool haveScores(ModuleOp module);

private:
  void addReaders(Value value);

  ArrayRef<dist::KernelOp> kernels;
  llvm::DenseMap<Attribute, SmallVector<Value>> reads;
  llvm::SetVector<Value> values;
};

} // namespace

/// Adds the values that are made of `value` outside of kernels, also by way of variables.
void SumReaders::addReaders(Value value) {
  for (Operation *user : value.getUsers()) {
    if (auto assign = dyn_cast<net::AssignOp>(user))
      for (Value read : reads.lookup(assign.getVariableAttr()))
        values.insert(read);
    if (!llvm::is_contained(kernels, user))
      values.insert(user->result_begin(), user->result_end());
  }
}

bool SumReaders::haveScores(ModuleOp module) {
  module.walk([&](net::ReadOp read) { reads[read.getVariableAttr()].push_back(read); });
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (dist::KernelOp kernel : kernels) {
    Block &body = kernel.getBody().front();
    net::DotOp product = *body.getOps<net::DotOp>().begin();
    fewest = std::min(fewest, typeOf(product.getResult()).getNumElements());
    for (auto [result, value] : llvm::zip(kernel.getResults(), body.getTerminator()->getOperands()))
      if (value.getDefiningOp<net::ReduceOp>())
        addReaders(result);
  }
  for (size_t next = 0; next != values.size(); ++next) {
    auto type = dyn_cast<RankedTensorType>(values[next].getType());
    if (type && type.getNumElements() >= fewest)
      return true;
    addReaders(values[next]);
  }
  return false;
}

void schedule::widenScores(ModuleOp module) {
  SmallVector<dist::KernelOp> kernels;
  module.walk([&](dist::KernelOp kernel) {
    if (kernel.getScores())
      kernels.push_back(kernel);
  });
  if (kernels.empty() || SumReaders(kernels).haveScores(module))
    return;
  for (dist::KernelOp kernel : kernels) {
    auto wide = cast<dist::KernelOp>(OpBuilder(kernel).clone(*kernel));
    Widener(wide.getBody().front()).run();
    dropConversions(wide.getBody().front());
    if (ScorePlan::create(wide))
      kernel.replaceAllUsesWith(wide.getResults());
    else
      std::swap(kernel, wide);
    kernel.erase();
  }
}

void schedule::invertDivisors(dist::KernelOp kernel) {
  for (auto divide : llvm::make_early_inc_range(kernel.getBody().front().getOps<net::DivideOp>())) {
    auto repeat = divide.getRhs().getDefiningOp<net::BroadcastOp>();
    if (!repeat || !typeOf(divide.getResult()).getElementType().isF32())
      continue;
    OpBuilder builder(divide);
    net::NetBuilder net(builder, divide.getLoc());
    Value divisor = repeat.getOperand();
    auto inverse = cast<net::BroadcastOp>(builder.clone(*repeat));
    builder.setInsertionPoint(inverse);
    inverse.getOperandMutable().assign(net.divide(net.splatLike(divisor, 1), divisor));
    builder.setInsertionPoint(divide);
    divide.getResult().replaceAllUsesWith(net.multiply(divide.getLhs(), inverse.getResult()));
    divide.erase();
    if (repeat->use_empty())
      repeat.erase();
  }
}
