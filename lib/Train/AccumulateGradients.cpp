//===- AccumulateGradients.cpp - gradient accumulation -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulated steps are coordinates of an axis of times of the mesh; the accumulator is the sum so far along it.
// The accumulated gradient takes over the gradient's name, so that loss scaling, clipping and the optimizer do not
// change.
//
//   every step   gradient > wider > + accumulator | > times 1/k > its own type > | clipping, optimizer
//                                                 | the last step
//
// If the reduction happens once per update, the gradient stays a partial sum up to the mean; the operations on the way
// are marked `dist.defer_reduction`.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Widening.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-accumulate-gradients"

namespace meshwright::train {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// The element type of the accumulator: at least 32 bits, so that small gradients are not lost in the sum.
static Type getSumType(Type own) { return own.getIntOrFloatBitWidth() < 32 ? Float32Type::get(own.getContext()) : own; }

/// Marks the operation of `value` as one that partial sums pass, unless `value` is `from` itself.
static void letPass(Value value, Value from) {
  if (value != from)
    dist::setDefersReduction(value.getDefiningOp());
}

/// The operand of the reshapes and transposes that `gradient` is a result of.
static Value skipLayout(Value gradient) {
  for (Operation *op = gradient.getDefiningOp(); op && net::getMovement(op) == net::Movement::Permutes;
       op = gradient.getDefiningOp()) {
    if (!op->getOperand(0).getDefiningOp())
      break;
    gradient = op->getOperand(0);
  }
  return gradient;
}

namespace {

struct AccumulateGradientsPass : train::impl::AccumulateGradientsPassBase<AccumulateGradientsPass> {
  using AccumulateGradientsPassBase::AccumulateGradientsPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    if (steps < 1) {
      getOperation().emitError() << "gradients of " << steps.getValue()
                                 << " steps are accumulated; it takes at least 1";
      return signalPassFailure();
    }
    auto gradients = collectGradients(*func);
    if (steps == 1 || gradients.empty())
      return;
    if (failed(addSteps()) || failed(accumulate(*func, gradients)))
      signalPassFailure();
  }

private:
  /// Adds an axis of steps to the mesh of the module, or creates a mesh with only that axis.
  LogicalResult addSteps() {
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    dist::Mesh mesh({dist::kAccumulationAxis.str()}, {steps}, {dist::AxisKind::Steps});
    dist::MeshOp old = dist::findMesh(getOperation());
    if (old) {
      if (old.getMesh().find(dist::kAccumulationAxis) || old.getMesh().find(dist::AxisKind::Steps))
        return old.emitError() << "the mesh has an axis \"" << dist::kAccumulationAxis << "\" or one of steps already";
      mesh = dist::joinAxes(old.getMesh(), mesh);
    }
    auto made = dist::MeshOp::create(builder, old ? old.getLoc() : getOperation().getLoc(), "mesh", mesh);
    if (old) {
      inherit(made, old, Inherit::Replacement);
      old.erase();
    }
    return success();
  }

  LogicalResult accumulate(func::FuncOp func, const llvm::MapVector<StringRef, Value> &gradients) {
    // After a reduction in every step, accumulation is local and belongs to the update.
    RoleBuilder builder(func, reducesLate() ? net::Role::Backward : net::Role::Optimize);
    SymbolTable symbols(getOperation());
    for (auto variable : getOperation().getOps<net::VariableOp>())
      lastVariable = variable;
    SmallVector<std::pair<net::VariableOp, Value>> sums;
    for (auto [name, gradient] : gradients) {
      auto parameter = symbols.lookup<net::VariableOp>(name);
      if (!parameter)
        continue;
      FailureOr<net::VariableOp> accumulator = makeAccumulator(symbols, parameter, gradient);
      if (failed(accumulator))
        return failure();
      sums.push_back({*accumulator, rewrite(func, builder, *accumulator, gradient)});
      ++numAccumulated;
    }
    // At the end of the function, together with the other assignments.
    builder.setInsertionPoint(func.getBody().front().getTerminator());
    DictionaryAttr allButLast = getTimes(steps - 1);
    for (auto [accumulator, sum] : sums) {
      auto assign = net::AssignOp::create(builder, sum.getLoc(), accumulator.getSymName(), sum);
      dist::kDuringAttr.set(assign, allButLast);
    }
    return success();
  }

  bool reducesLate() const { return reduce == AccumulationReduce::AtUpdate; }

  /// The attribute for the first `count` steps.
  DictionaryAttr getTimes(int64_t count) {
    Builder builder(&getContext());
    return builder.getDictionaryAttr(builder.getNamedAttr(
        dist::kAccumulationAxis, builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(count)))));
  }

  FailureOr<net::VariableOp> makeAccumulator(SymbolTable &symbols, net::VariableOp parameter, Value gradient) {
    std::string name = (net::kAccumulatorPrefix + parameter.getSymName()).str();
    if (Operation *other = symbols.lookup(name)) {
      auto diagnostic = parameter.emitError()
                        << "accumulating its gradients needs a variable @" << name << ", which exists already";
      diagnostic.attachNote(other->getLoc()) << "it is here";
      return failure();
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(lastVariable);
    auto type = net::typeOf(gradient).clone(getSumType(net::elementTypeOf(gradient)));
    auto init = net::InitializerAttr::get(&getContext(), net::InitializerKind::Constant, 0);
    auto variable = net::VariableOp::create(builder, parameter.getLoc(), net::VariableKind::Accumulator, name, type,
                                            init, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    symbols.insert(variable);
    return lastVariable = variable;
  }

  /// Gives the name of `gradient` to the accumulated gradient. Returns the sum so far.
  Value rewrite(func::FuncOp func, RoleBuilder &builder, net::VariableOp accumulator, Value gradient) {
    Operation *op = gradient.getDefiningOp();
    builder.setScope(StringAttr());
    builder.setInsertionPointToStart(&func.getBody().front());
    Value before =
        net::ReadOp::create(builder, accumulator.getLoc(), accumulator.getTensorType(), accumulator.getSymName());
    net::kRoleAttr.remove(before.getDefiningOp());
    builder.setScope(net::kScopeAttr.get(op));
    builder.setInsertionPointAfter(op);
    net::NetBuilder build(builder, gradient.getLoc());
    Type own = net::elementTypeOf(gradient), wide = net::elementTypeOf(before);
    Value addend = build.convert(gradient, wide);
    Value sum = dist::AccumulateOp::create(builder, gradient.getLoc(), before, addend, dist::kAccumulationAxis,
                                           DenseI64ArrayAttr());
    // With a name of its own the sum cannot take the gradient's name when Simplify merges the two.
    net::kNameAttr.set(sum.getDefiningOp(), accumulator.getSymNameAttr());
    Value mean = average ? build.scale(sum, 1.0 / static_cast<double>(steps)) : sum;
    if (reducesLate()) {
      Widening(skipLayout(gradient)).setDefersReduction();
      letPass(addend, gradient);
      letPass(mean, sum);
    }
    Value accumulated = build.convert(mean, own);
    if (accumulated == sum)
      accumulated = net::ReshapeOp::create(builder, sum.getLoc(), sum.getType(), sum);
    net::kNameAttr.set(accumulated.getDefiningOp(), net::kNameAttr.get(op));
    net::kNameAttr.remove(op);
    return sum;
  }

  net::VariableOp lastVariable;
};

} // namespace
