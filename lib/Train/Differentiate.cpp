//===- Differentiate.cpp - gradients of a loss ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Appends the backward pass of the loss (`ReverseMode`). Afterwards the gradient of every parameter that has one is the
// first result of an operation named `grad/…`. Parameters without a gradient are reported and keep their values.
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-differentiate"

namespace meshwright::train {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

static bool isScalarFloat(Value value) { return net::isFloat(value) && net::typeOf(value).getRank() == 0; }

/// The only scalar float among the results; an error if there is none or more than one.
static FailureOr<Value> findOnlyScalar(func::FuncOp func, func::ReturnOp results) {
  auto scalars = llvm::to_vector(llvm::make_filter_range(results.getOperands(), isScalarFloat));
  if (scalars.size() == 1)
    return scalars.front();
  return func.emitError() << "has " << scalars.size() << " scalar results of floats among " << results.getNumOperands()
                          << "; say which one is the loss";
}

/// The result that the option names, by its name or its index.
static FailureOr<Value> findLoss(func::FuncOp func, StringRef loss) {
  auto results = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  if (loss.empty())
    return findOnlyScalar(func, results);
  unsigned number = results.getNumOperands(), found = number;
  for (unsigned index = 0; index < number; ++index) {
    auto name = net::kNameAttr.getOfResult(func, index);
    if (name && name.getValue() == loss)
      found = index;
  }
  unsigned index;
  if (found == number && !loss.getAsInteger(10, index))
    found = index;
  if (found >= number)
    return func.emitError() << "has no result \"" << loss << "\" to be the loss; it has " << number << " results";
  Value value = results.getOperand(found);
  if (!isScalarFloat(value))
    return func.emitError() << "result \"" << loss << "\" is of " << value.getType()
                            << " but a loss is a scalar of floats";
  return value;
}

/// Names the operation that computes a gradient. An operation that already has a name, or whose result leaves a loop,
/// is followed by a reshape to the same shape, which takes the name.
static void nameGradient(RoleBuilder &builder, StringRef parameter, Value gradient) {
  auto name = builder.getStringAttr(net::kGradientPrefix + parameter);
  Operation *op = gradient.getDefiningOp();
  if (!op || net::kNameAttr.isOn(op) || op->getResult(0) != gradient || net::leavesLoop(op)) {
    builder.setScope(op ? net::kScopeAttr.get(op) : StringAttr());
    op = net::ReshapeOp::create(builder, gradient.getLoc(), gradient.getType(), gradient);
  }
  net::kNameAttr.set(op, name);
}

namespace {

struct DifferentiatePass : train::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func) || failed(differentiate(*func)))
      signalPassFailure();
  }

  LogicalResult differentiate(func::FuncOp func) {
    FailureOr<Value> lossValue = findLoss(func, loss);
    FailureOr<SmallVector<net::ReadOp>> parameters = findParameters(func);
    if (failed(lossValue) || failed(parameters))
      return failure();
    llvm::DenseSet<Value> shifts = findIrrelevantShifts(*lossValue);
    numShifts += shifts.size();
    SmallVector<Value> sources =
        llvm::map_to_vector(*parameters, [](net::ReadOp read) -> Value { return read.getResult(); });
    Block &block = func.getBody().front();
    FailureOr<net::LoopNest> loops = net::LoopNest::find(block);
    if (failed(loops))
      return failure();
    ReverseMode reverse(block, *loops, sources, shifts);
    RoleBuilder builder(func, net::Role::Backward);
    if (Operation *op = lossValue->getDefiningOp())
      builder.setScope(net::kScopeAttr.get(op));
    if (failed(reverse.run(*lossValue, builder, makeSeed(func, builder, *lossValue))))
      return failure();
    stackForBackward(block, reverse.getForwardOf());
    for (net::ReadOp read : *parameters) {
      StringRef name = read.getVariable();
      if (Value gradient = reverse.getCotangent(read.getResult())) {
        nameGradient(builder, name, gradient);
        ++numGradients;
      } else {
        read.emitWarning() << "the loss does not depend on parameter " << name << ", which keeps its value";
      }
    }
    return success();
  }

  /// The cotangent of the loss: the option `seed`, times the loss scale, which may be a variable.
  Value makeSeed(func::FuncOp func, RoleBuilder &builder, Value lossValue) {
    net::NetBuilder build(builder, lossValue.getLoc());
    if (lossScale == 0)
      return build.splatLike(lossValue, seed);
    auto type = RankedTensorType::get({}, builder.getF32Type());
    Value scale;
    if (dynamicScale) {
      net::VariableOp last;
      for (auto variable : getOperation().getOps<net::VariableOp>())
        last = variable;
      OpBuilder module(&getContext());
      module.setInsertionPointAfter(last);
      auto init = net::InitializerAttr::get(&getContext(), net::InitializerKind::Constant, lossScale);
      net::VariableOp::create(module, func.getLoc(), net::VariableKind::OptimizerState, kLossScale, type, init,
                              FlatSymbolRefAttr());
      OpBuilder front(&func.getBody().front(), func.getBody().front().begin());
      scale = net::ReadOp::create(front, func.getLoc(), type, kLossScale);
    } else {
      scale = build.splat(type, lossScale);
    }
    net::kNameAttr.set(scale.getDefiningOp(), builder.getStringAttr(kLossScale));
    return build.scale(build.convert(scale, net::elementTypeOf(lossValue)), seed);
  }

  /// The reads of the parameters to train, in the order of the variables.
  FailureOr<SmallVector<net::ReadOp>> findParameters(func::FuncOp func) {
    auto reads = collectReads(func);
    SmallVector<net::ReadOp> parameters;
    GlobList globs(frozen);
    for (auto variable : getOperation().getOps<net::VariableOp>()) {
      if (variable.getKind() != net::VariableKind::Parameter || globs.match(variable.getSymName()))
        continue;
      net::ReadOp read = reads.lookup(variable.getSymNameAttr());
      if (!read)
        variable.emitWarning() << "the step does not read parameter " << variable.getSymName()
                               << ", which keeps its value";
      else if (net::isFloat(read.getResult()))
        parameters.push_back(read);
    }
    if (failed(verifyAllUsed(getOperation(), globs, "frozen", "parameters")))
      return failure();
    return parameters;
  }
};

} // namespace
