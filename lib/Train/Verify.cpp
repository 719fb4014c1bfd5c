//===- Verify.cpp - verifier of the stage Train ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-verify"

namespace meshwright::train {
#define GEN_PASS_DEF_VERIFYPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// The variables that are assigned. The operation's verifier refuses a second assignment.
static llvm::DenseSet<StringAttr> collectAssigned(func::FuncOp func) {
  llvm::DenseSet<StringAttr> assigned;
  for (auto assign : func.getOps<net::AssignOp>())
    assigned.insert(assign.getVariableAttr().getAttr());
  return assigned;
}

static bool belongsToTrain(net::VariableOp variable) {
  net::VariableKind kind = variable.getKind();
  return kind == net::VariableKind::OptimizerState || kind == net::VariableKind::Counter ||
         kind == net::VariableKind::Accumulator;
}

namespace {

struct VerifyPass : train::impl::VerifyPassBase<VerifyPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func) || failed(verify(*func)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(func::FuncOp func) {
    llvm::DenseSet<StringAttr> assignedVariables = collectAssigned(func);
    auto gradients = collectGradients(func);
    for (auto &[parameter, gradient] : gradients)
      if (gradient.use_empty())
        return gradient.getDefiningOp()->emitOpError()
               << "computes the gradient of " << parameter << ", which has no uses";
    auto reads = collectReads(func);
    for (auto variable : getOperation().getOps<net::VariableOp>()) {
      StringAttr name = variable.getSymNameAttr();
      bool assigned = assignedVariables.contains(name);
      if (variable.getKind() == net::VariableKind::Parameter && gradients.contains(name.getValue()) && !assigned)
        return variable.emitOpError() << "has a gradient but is not assigned";
      if (!belongsToTrain(variable))
        continue;
      StringRef kind = net::stringifyVariableKind(variable.getKind());
      if (!variable.getInit())
        return variable.emitOpError() << "is of kind " << kind << " but has no initializer";
      if (!assigned)
        return variable.emitOpError() << "is of kind " << kind << " but is not assigned";
      // An exported step may keep state only for its user to read, but Train reads every accumulator that it creates.
      if (variable.getKind() == net::VariableKind::Accumulator && !reads.contains(name))
        return variable.emitOpError() << "is of kind " << kind << " but is not read";
    }
    return success();
  }
};

} // namespace
