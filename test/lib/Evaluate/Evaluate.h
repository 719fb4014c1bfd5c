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
std::optional<Tensor> evaluateOrder(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);
std::optional<Tensor> evaluateWindow(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

/// The larger and the smaller of two floats as IEEE 754 has `maximum` and `minimum`: NaN if either is, and +0 above -0.
double maximum(double x, double y);
double minimum(double x, double y);

/// The initial value of a reduction of elements like those of `x`, and the reduction of two elements, neither rounded
/// nor wrapped.
Element getNeutral(ReduceKind kind, const Tensor &x);
Element combineElements(ReduceKind kind, const Tensor &x, Element left, Element right);

/// One time that an operation is done: the number of the iteration of the innermost loop around it, and whether it is
/// the first of the loop.
struct Iteration {
  int64_t index = 0;
  bool isFirst = true;
};

/// Calls `visit` for the operations of `block` in the order in which they are done: those of a loop, `net.loop` among
/// them, in every iteration, and never its end. Emits an error where loops are not as they should be.
mlir::LogicalResult forEachDone(mlir::Block &block,
                                llvm::function_ref<mlir::LogicalResult(mlir::Operation *, Iteration)> visit);
/// The value whose last one `op`, of a loop, goes on from in the next iteration; null where it needs none.
mlir::Value getBefore(mlir::Operation *op);
/// Computes one of the operations that make up a loop; nothing for any other. `before` is the last value of
/// `getBefore(op)`, which is not looked at in the first iteration.
std::optional<Tensor> evaluateLoop(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands, Iteration iteration,
                                   const Tensor *before);

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
  mlir::FailureOr<Tensors> compute(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands, Iteration iteration,
                                   const llvm::DenseMap<mlir::Value, Tensor> &values);

  mlir::func::FuncOp func;
};

} // namespace meshwright::evaluate

#endif
