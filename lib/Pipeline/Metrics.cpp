//===- Metrics.cpp - what a package reports while it runs -----------------===//
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
    auto dim = func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "net.batch_dim");
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

void meshwright::describeMetrics(ModuleOp serial, emit::EmitOptions &options) {
  for (auto func : serial.getOps<func::FuncOp>()) {
    for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
      auto name = func.getResultAttrOfType<StringAttr>(index, net::kNameAttr);
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!name || !tensor || tensor.getRank() != 0)
        continue;
      if (name == "lr")
        options.learningRate = name.str();
      else if (name == "grad_norm")
        options.gradNorm = name.str();
      else if (name == "loss_scale")
        options.lossScale = name.str();
      else if (name == "found_inf")
        options.foundInf = name.str();
      else if (name == "skipped_steps")
        options.skippedSteps = name.str();
      else if (options.loss.empty() && isa<FloatType>(tensor.getElementType()))
        options.loss = name.str();
    }
    options.arithmetic = findNarrowest(func);
    options.tokensPerStep = countTokens(func);
  }
}
