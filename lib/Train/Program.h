//===- Program.h - the step that Train extends ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_PROGRAM_H
#define MESHWRIGHT_LIB_TRAIN_PROGRAM_H

#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::train {

/// The name of the norm of all gradients, where the step computes it.
inline constexpr llvm::StringLiteral kGradientNorm = "grad_norm";

/// The names of what the loss is multiplied by, of 1 where a gradient is not finite and otherwise 0, and of how many
/// steps were skipped for that.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";
inline constexpr llvm::StringLiteral kFoundInf = "found_inf";
inline constexpr llvm::StringLiteral kSkippedSteps = "skipped_steps";

/// The public function with a body, of which a program has one; otherwise emits an error.
mlir::FailureOr<mlir::func::FuncOp> findStep(mlir::ModuleOp module);

/// The first operation with results and that name in a function; null if there is none.
mlir::Operation *findNamed(mlir::func::FuncOp func, llvm::StringRef name);
/// Gives the operation of a value a name.
void setName(mlir::Value value, llvm::StringRef name);

/// The reads of a function by the name of the variable.
llvm::MapVector<mlir::StringAttr, net::ReadOp> collectReads(mlir::func::FuncOp func);

/// The gradients of a function: the first results of operations named `grad/…`, by the parameter's name.
llvm::MapVector<llvm::StringRef, mlir::Value> collectGradients(mlir::func::FuncOp func);

/// Whether one of the globs matches; marks every glob that does in `used`, which grows to their number.
bool matchesAny(llvm::ArrayRef<std::string> globs, llvm::StringRef name, llvm::SmallVectorImpl<bool> &used);

/// Emits an error for the first glob that matched nothing; `what` are the things it was to match. It stands where the
/// glob was written, or at `op` where that is not known.
mlir::LogicalResult verifyAllUsed(mlir::Operation *op, llvm::ArrayRef<std::string> globs, llvm::ArrayRef<bool> used,
                                  llvm::StringRef option, llvm::StringRef what,
                                  llvm::ArrayRef<mlir::Location> locations = {});

/// A builder at the end of the function's body whose operations get a role, and the scope that is set.
class RoleBuilder : public mlir::OpBuilder, public mlir::OpBuilder::Listener {
public:
  RoleBuilder(mlir::func::FuncOp func, net::Role role);
  RoleBuilder(const RoleBuilder &) = delete;
  void setScope(mlir::Attribute value) { scope = value; }
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;

private:
  mlir::Attribute role, scope;
};

} // namespace meshwright::train

#endif
