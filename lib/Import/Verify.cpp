//===- Verify.cpp - verifier of the stage Import --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Given/Given.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_VERIFYIMPORTPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

/// Operations of other dialects are accepted if they have a sharding rule.
static bool isUnderstood(Operation *op) {
  return isa_and_nonnull<net::NetDialect, dist::DistDialect>(op->getDialect()) ||
         isa<ModuleOp, func::FuncOp, func::ReturnOp, dist::ShardingOpInterface>(op);
}

static LogicalResult verifyOperation(Operation *op) {
  if (!isUnderstood(op))
    return op->emitError() << "operation " << op->getName() << " neither belongs to net nor has a sharding rule";
  if (auto variable = dyn_cast<net::VariableOp>(op); variable && variable.getSymName().empty())
    return op->emitError() << "a variable of " << variable.getType() << " has no name";
  return success();
}

namespace {

struct VerifyImport : importer::impl::VerifyImportPassBase<VerifyImport> {
  void runOnOperation() override {
    func::FuncOp graph = findGraph(getOperation());
    if (!graph || failed(verifySignature(graph)))
      return signalPassFailure();
    WalkResult result = getOperation().walk([](Operation *op) { return WalkResult(verifyOperation(op)); });
    if (result.wasInterrupted() || failed(given::verifyShardings(getOperation())) ||
        failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult verifySignature(func::FuncOp graph) {
    for (BlockArgument argument : graph.getArguments())
      if (!net::kNameAttr.getOfArgument(graph, argument.getArgNumber()))
        return emitError(argument.getLoc()) << "input " << argument.getArgNumber() << " has no name";
    for (unsigned index = 0; index < graph.getNumResults(); ++index)
      if (!net::kNameAttr.getOfResult(graph, index))
        return graph.emitError() << "result " << index << " has no name";
    return success();
  }
};

} // namespace
