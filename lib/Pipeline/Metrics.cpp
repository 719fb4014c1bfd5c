//===- Metrics.cpp - finds the metrics of a training step -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;

/// Tokens of one step, or samples where the inputs are no integers; 0 where no input has a batch.
static int64_t countTokens(func::FuncOp func) {
  int64_t samples = 0;
  for (BlockArgument argument : func.getArguments()) {
    auto dim = net::kBatchDimAttr.getOfArgument(func, argument.getArgNumber());
    if (!dim)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    if (isa<IntegerType>(type.getElementType()))
      return type.getNumElements();
    if (samples == 0)
      samples = type.getDimSize(dim.getInt());
  }
  return samples;
}

/// The narrowest float type of a result; of two of one width, the one with fewer digits.
static FloatType findNarrowest(func::FuncOp func) {
  FloatType narrowest;
  func.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type)))
        if (!narrowest || element.getWidth() < narrowest.getWidth() ||
            (element.getWidth() == narrowest.getWidth() &&
             element.getFPMantissaWidth() < narrowest.getFPMantissaWidth()))
          narrowest = element;
  });
  return narrowest;
}

/// The last component of a name: a step of its own may return `2.grad_norm`.
static StringRef getLastComponent(StringRef name) {
  size_t dot = name.rfind('.');
  return dot == StringRef::npos ? name : name.drop_front(dot + 1);
}

void meshwright::describeMetrics(ModuleOp serial, emit::ProgramMetrics &metrics) {
  for (auto func : serial.getOps<func::FuncOp>()) {
    for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
      auto name = net::kNameAttr.getOfResult(func, index);
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!name || !tensor || tensor.getRank() != 0)
        continue;
      StringRef last = getLastComponent(name.getValue());
      bool isFirst = metrics.loss.empty() && isa<FloatType>(tensor.getElementType());
      if (last == "lr")
        metrics.learningRate = name.str();
      else if (last == "grad_norm")
        metrics.gradNorm = name.str();
      else if (last == "loss_scale")
        metrics.lossScale = name.str();
      else if (last == "found_inf")
        metrics.foundInf = name.str();
      else if (last == "skipped_steps")
        metrics.skippedSteps = name.str();
      else if (last == "loss" || isFirst)
        metrics.loss = name.str();
    }
    metrics.arithmetic = findNarrowest(func);
    metrics.tokensPerStep = countTokens(func);
  }
}
