//===- Evaluate.h - a plain interpreter of serial networks ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference that everything else is compared with. Every operation is a loop over elements that follows its
// definition, with nothing shared with the compiler but the dialect: floats are computed in f64 and rounded once to
// their type, sums included; integers wrap.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_EVALUATE_EVALUATE_H
#define MESHWRIGHT_TEST_LIB_EVALUATE_EVALUATE_H

#include "dialects/Net/Net.h"
#include "test/lib/Evaluate/Tensor.h"
#include <map>
#include <optional>
#include <string>

namespace meshwright::evaluate {

using Tensors = llvm::SmallVector<Tensor>;

/// Computes one operation of net that is neither a read nor an assignment; emits an error for any other.
mlir::FailureOr<Tensors> evaluateOperation(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

// The families; each returns nothing for an operation that is not its own.
std::optional<Tensor> evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);
std::optional<Tensor> evaluateLayout(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);
std::optional<Tensors> evaluateReduction(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);
std::optional<Tensor> evaluateIndexing(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

/// A program with the state of its variables.
class Program {
public:
  /// `module` has one public function; variables with a constant initializer get its value.
  static mlir::FailureOr<Program> create(mlir::ModuleOp module);

  /// Runs a step with inputs in the order of the function's arguments: reads see the variables as they are, assignments
  /// change them when it has ended.
  mlir::FailureOr<Tensors> run(llvm::ArrayRef<Tensor> inputs);

  mlir::func::FuncOp getFunction() const { return func; }
  /// The values of variables by name.
  std::map<std::string, Tensor> variables;

private:
  mlir::func::FuncOp func;
};

} // namespace meshwright::evaluate

#endif
