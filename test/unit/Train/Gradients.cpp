//===- Gradients.cpp - gradients of programs in text ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Train/Gradients.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;
using evaluate::Tensor;

std::string train::printType(ArrayRef<int64_t> shape, StringRef elementType) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + elementType.str() + ">";
}

MLIRContext &train::getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, net::NetDialect>();
    registerNetDerivatives(registry);
    registerNetFolds(registry);
    registerNetShifts(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    made->disableMultithreading();
    return made;
  }();
  return *context;
}

static std::string printProgram(const Function &function) {
  std::string text, type = printType(function.result);
  llvm::raw_string_ostream os(text);
  for (auto [index, shape] : llvm::enumerate(function.shapes))
    os << "net.variable parameter @p" << index << " : " << printType(shape) << "\n";
  os << "func.func @step(%weights: " << type << ") -> tensor<f64> {\n";
  for (auto [index, shape] : llvm::enumerate(function.shapes))
    os << "  %p" << index << " = net.read @p" << index << " : " << printType(shape) << "\n";
  os << function.body << "\n  %weighted = net.multiply " << function.resultName << ", %weights : " << type << "\n";
  os << "  %loss = net.reduce sum %weighted dims = [";
  llvm::interleaveComma(llvm::seq<size_t>(0, function.result.size()), os);
  os << "] : " << type << " -> tensor<f64>\n  return %loss : tensor<f64>\n}\n";
  return text;
}

Differentiated::Differentiated(const Function &function) : numParameters(function.shapes.size()) {
  module = parseSourceString<ModuleOp>(printProgram(function), &getContext());
  if (!module)
    return;
  PassManager passes(&getContext());
  passes.addPass(createDifferentiatePass());
  FailureOr<evaluate::Program> made = failure();
  if (succeeded(passes.run(*module)))
    made = evaluate::Program::create(*module);
  if (failed(made)) {
    module = {};
    return;
  }
  program = *made;
  auto type = [](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, Float64Type::get(&getContext())); };
  for (auto [index, shape] : llvm::enumerate(function.shapes))
    parameter(index) = Tensor(type(shape));
  weights = Tensor(type(function.result));
  for (evaluate::Element &weight : weights.data)
    weight.f = 1;
  // Gradients become outputs, in the order of the parameters; one that is absent is zero.
  auto func = program.getFunction();
  OpBuilder builder(func.getBody().front().getTerminator());
  for (unsigned index = 0; index < numParameters; ++index) {
    Value gradient;
    for (Operation &op : func.getBody().front())
      if (auto name = net::kNameAttr.get(&op); name && name == "grad/p" + std::to_string(index))
        gradient = op.getResult(0);
    if (!gradient) {
      auto zeros = DenseElementsAttr::get(type(function.shapes[index]), 0.0);
      gradient = net::ConstantOp::create(builder, func.getLoc(), zeros.getType(), zeros);
    }
    func.getBody().front().getTerminator()->insertOperands(index + 1, gradient);
  }
}

evaluate::Tensors Differentiated::run() {
  FailureOr<evaluate::Tensors> results = program.run(weights);
  return succeeded(results) ? *results : evaluate::Tensors();
}

double Differentiated::loss() {
  evaluate::Tensors results = run();
  return results.empty() ? std::nan("") : results.front().data.front().f;
}

Tensor Differentiated::gradient(unsigned index) {
  evaluate::Tensors results = run();
  return results.empty() ? Tensor() : results[index + 1];
}
