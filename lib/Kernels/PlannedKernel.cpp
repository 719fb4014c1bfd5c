//===- PlannedKernel.cpp - a kernel and its plan --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/PlannedKernel.h"
#include "BodyBuilder.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Kernels/KernelBody.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

/// Moves the loops over kept dimensions of reductions before those over summed ones.
static void putKeptFirst(ModuleOp module) {
  SmallVector<linalg::GenericOp> reductions;
  module.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() != 0)
      reductions.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (linalg::GenericOp op : reductions) {
    SmallVector<unsigned> order, summed;
    for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
      (iterator == utils::IteratorType::reduction ? summed : order).push_back(loop);
    llvm::append_range(order, summed);
    rewriter.setInsertionPoint(op);
    // It fails where the order is as it should be.
    (void)linalg::interchangeGenericOp(rewriter, op, order);
  }
}

PlannedKernel schedule::planKernel(dist::KernelOp kernel, LoopOrder order, ArrayRef<int64_t> domain) {
  PlannedKernel planned{ModuleOp::create(kernel.getLoc()), nullptr, {}};
  // The lowering without a plan says which operation it is.
  if (!llvm::all_of(kernel.getBody().front().without_terminator(), llvm::IsaPred<dist::KernelOpInterface>)) {
    planned.reason = "an operation has no lowering";
    return planned;
  }
  OpBuilder builder = OpBuilder::atBlockEnd(planned.module->getBody());
  SmallVector<Type> inputs;
  for (Value input : kernel.getInputs())
    inputs.push_back(getSignless(input.getType()));
  auto func = func::FuncOp::create(builder, kernel.getLoc(), "tensors", builder.getFunctionType(inputs, {}));
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  FailureOr<SmallVector<Value>> outputs = lowerBody(kernel.getBody().front(), builder, block->getArguments());
  if (failed(outputs)) {
    planned.reason = "an operation has no lowering";
    return planned;
  }
  auto ret = func::ReturnOp::create(builder, kernel.getLoc(), *outputs);
  if (order == LoopOrder::KeptFirst)
    putKeptFirst(*planned.module);
  outputs->assign(ret.operand_begin(), ret.operand_end());
  ret->eraseOperands(0, ret.getNumOperands());
  planned.plan = KernelPlan::create(*block, *outputs, planned.reason, domain);
  return planned;
}

PlannedValues schedule::planValues(ValueRange outputs, function_ref<bool(Operation *)> isInput,
                                   ArrayRef<int64_t> domain) {
  OpBuilder builder(outputs.front().getContext());
  OwningOpRef<dist::KernelOp> kernel =
      dist::KernelOp::create(builder, outputs.front().getLoc(), outputs.getTypes(), ValueRange(), /*in_place=*/nullptr,
                             /*scores=*/nullptr);
  auto isInside = [&](Operation *op) { return !isInput(op); };
  SmallVector<Value> inputs = BodyBuilder(*kernel, isInside).finish(outputs);
  kernel->getInputsMutable().assign(inputs);
  PlannedValues planned{planKernel(*kernel, LoopOrder::Given, domain), std::move(inputs), {}};
  for (Value value : llvm::concat<Value>(planned.inputs, SmallVector<Value>(outputs)))
    planned.types.push_back(getSignless(value.getType()));
  return planned;
}

std::string schedule::getKernelText(dist::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DenseMap<Value, unsigned> numbers;
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    numbers.try_emplace(argument, numbers.size());
    stream << argument.getType() << ' ';
  }
  for (Operation &op : body) {
    stream << '\n' << op.getName() << ' ' << op.getPropertiesAsAttribute();
    for (Value operand : op.getOperands())
      stream << ' ' << numbers.lookup(operand);
    for (Value result : op.getResults()) {
      numbers.try_emplace(result, numbers.size());
      stream << ' ' << result.getType();
    }
  }
  if (auto inPlace = kernel.getInPlaceAttr())
    stream << '\n' << inPlace;
  if (auto scores = kernel.getScoresAttr())
    stream << '\n' << scores;
  return text;
}
