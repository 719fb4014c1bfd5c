//===- Gradients.h - gradients of programs in text --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_TRAIN_GRADIENTS_H
#define MESHWRIGHT_TEST_UNIT_TRAIN_GRADIENTS_H

#include "mlir/IR/OwningOpRef.h"
#include "test/lib/Evaluate/Evaluate.h"

namespace meshwright::train {

/// A function of parameters `%p0`, `%p1`, … of f64, written in operations of net that end in `%r`.
struct Function {
  std::string name;
  /// The shapes of the parameters, and the interval their values are drawn from.
  std::vector<std::vector<int64_t>> shapes;
  std::string body;
  /// The shape of `%r`, which is of f64.
  std::vector<int64_t> result;
  double low = -2, high = 2;
  /// The name of the result.
  std::string resultName = "%r";
};

/// `tensor<2x3xf64>`.
std::string printType(llvm::ArrayRef<int64_t> shape, llvm::StringRef elementType = "f64");

/// A context that knows the derivatives of net and stays silent about nothing.
mlir::MLIRContext &getContext();

/// The sum of the elements of a function's result, weighted, as a program, and its gradients.
class Differentiated {
public:
  explicit Differentiated(const Function &function);

  bool isValid() const { return static_cast<bool>(module); }
  unsigned getNumParameters() const { return numParameters; }
  evaluate::Tensor &parameter(unsigned index) { return program.variables["p" + std::to_string(index)]; }
  /// One weight per element of the result, 1 at first.
  evaluate::Tensor weights;

  /// The loss at the parameters and weights.
  double loss();
  /// The gradient of a parameter, zeros where there is none.
  evaluate::Tensor gradient(unsigned index);

private:
  evaluate::Tensors run();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  evaluate::Program program;
  unsigned numParameters = 0;
};

} // namespace meshwright::train

#endif
