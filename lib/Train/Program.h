//===- Program.h - the step that Train extends ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_PROGRAM_H
#define MESHWRIGHT_LIB_TRAIN_PROGRAM_H

#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Glob.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::train {

/// The name of the norm of all gradients.
inline constexpr llvm::StringLiteral kGradientNorm = "grad_norm";

/// The names of the loss scale; of the overflow flag, which is 1 if a gradient is not finite and 0 otherwise; and of
/// the number of steps skipped because of overflow.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";
inline constexpr llvm::StringLiteral kFoundInf = "found_inf";
inline constexpr llvm::StringLiteral kSkippedSteps = "skipped_steps";

/// The only public function with a body. Emits an error if there is none or more than one.
mlir::FailureOr<mlir::func::FuncOp> findStep(mlir::ModuleOp module);

/// The first operation with results and that name in a function; null if there is none.
mlir::Operation *findNamed(mlir::func::FuncOp func, llvm::StringRef name);
/// Gives the operation of a value a name.
void setName(mlir::Value value, llvm::StringRef name);

/// The operations of this kind whose result is of floats, in the order of the function.
template <typename OpT> llvm::SmallVector<OpT> findOfFloats(mlir::func::FuncOp func) {
  llvm::SmallVector<OpT> found;
  func.walk([&](OpT op) {
    if (net::isFloat(op.getResult()))
      found.push_back(op);
  });
  return found;
}

/// The reads of a function by variable.
llvm::MapVector<mlir::StringAttr, net::ReadOp> collectReads(mlir::func::FuncOp func);

/// The gradients of a function by parameter: the first results of operations named `grad/…`.
llvm::MapVector<llvm::StringRef, mlir::Value> collectGradients(mlir::func::FuncOp func);

/// Emits an error for the first glob without a match, at the location of the glob if it is known, otherwise at `op`.
/// `candidates` names the things held against the globs in the message.
mlir::LogicalResult verifyAllUsed(mlir::Operation *op, const GlobList &globs, llvm::StringRef option,
                                  llvm::StringRef candidates, llvm::ArrayRef<mlir::Location> locations = {});

/// Warns of every glob that matches and changes nothing, for `reason`, at the location of the glob or at `op`.
void warnOfGlobsWithoutEffect(mlir::Operation *op, const GlobList &globs, llvm::StringRef option,
                              llvm::StringRef reason, llvm::ArrayRef<mlir::Location> locations = {});

/// A builder at the end of the function's body that gives its operations a role and, if set, a scope.
class RoleBuilder : public mlir::OpBuilder, public mlir::OpBuilder::Listener {
public:
  RoleBuilder(mlir::func::FuncOp func, net::Role role);
  RoleBuilder(const RoleBuilder &) = delete;
  void setScope(mlir::StringAttr value) { scope = value; }
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;

private:
  net::RoleAttr role;
  mlir::StringAttr scope;
};

} // namespace meshwright::train

#endif
