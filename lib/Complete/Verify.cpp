//===- Verify.cpp - verifier and pipeline of the stage Complete -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_VERIFYPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// Checks that attribute `name` of `op` holds a valid placement for each of `values`.
static LogicalResult verifyList(Operation *op, StringRef name, ValueRange values, const Mesh &mesh) {
  auto mappings = op->getAttrOfType<ArrayAttr>(name);
  size_t count = mappings ? mappings.size() : 0;
  if (count != values.size())
    return op->emitOpError() << "has " << count << " placements in " << name << " for " << values.size() << " values";
  for (auto [mapping, value] : llvm::zip_equal(mappings ? mappings.getValue() : ArrayRef<Attribute>(), values)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto placement = dyn_cast<MappingAttr>(mapping);
    if (!type || !placement)
      return op->emitOpError() << "has a value of " << value.getType() << " without placement";
    if (failed(Placement::resolve(placement, mesh, type.getShape(), [&] { return op->emitOpError(); })))
      return failure();
  }
  return success();
}

namespace {

struct VerifyPass : complete::impl::VerifyPassBase<VerifyPass> {
  void runOnOperation() override {
    MeshOp meshOp = findMesh(getOperation());
    if (!meshOp)
      return;
    Mesh mesh = meshOp.getMesh();
    for (auto variable : getOperation().getOps<net::VariableOp>())
      if (!kMappingAttr.isOn(variable)) {
        variable.emitOpError() << "has no placement in which it is kept";
        return signalPassFailure();
      }
    WalkResult result = getOperation().walk([&](func::FuncOp func) {
      for (BlockArgument argument : func.getArguments())
        if (!getMapping(argument)) {
          func.emitOpError() << "has argument " << argument.getArgNumber() << " without placement";
          return WalkResult::interrupt();
        }
      return func.walk([&](Operation *op) {
        if (op == func.getOperation())
          return WalkResult::advance();
        return WalkResult(failure(failed(verifyList(op, kOperandsAttr, op->getOperands(), mesh)) ||
                                  failed(verifyList(op, kResultsAttr, op->getResults(), mesh))));
      });
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

void complete::buildPipeline(OpPassManager &manager, const Options &options) {
  buildPlacement(manager);
  buildAfterPlacement(manager, options);
}

void complete::buildPlacement(OpPassManager &manager) {
  // First, because separated values get placements of their own.
  manager.addPass(createSeparateSumsPass());
  // Before placements: a sum is reduced before its rounding, which affects where.
  manager.addPass(createWidenSumsPass());
  manager.addPass(createPropagatePass());
}

void complete::buildAfterPlacement(OpPassManager &manager, const Options &options) {
  // With placements, the bytes per rank and the cost of a value are known.
  manager.addPass(createRecomputePass(options.recompute, options.recomputeLocations));
  // Stacks kept from forward, or gathered by backward alone, stay in the compute placement.
  if (options.segment.keepWithin == 0 && options.segment.backwardAxes.empty())
    manager.addPass(createFetchInLoopsPass());
  // Last: fetches follow from the placements of all values.
  manager.addPass(createSegmentPass(options.segment, options.locations));
  manager.addPass(createVerifyPass());
}
