//===- PutOffUpdates.cpp - updates in the last accumulated step -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States the time of all assignments of the update once, for every optimizer, average and scale. Later stages derive
// the time of the operations that only these assignments need.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Dist/PortAttributes.h"
#include "meshwright/Train/Passes.h"
#include "llvm/ADT/DenseSet.h"

#define DEBUG_TYPE "dist-train-put-off-updates"

namespace meshwright::train {
#define GEN_PASS_DEF_PUTOFFUPDATESPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// The values that depend on an accumulated gradient.
static llvm::DenseSet<Value> findAccumulated(func::FuncOp func) {
  llvm::DenseSet<Value> accumulated;
  for (Operation &op : func.getBody().front()) {
    bool depends = llvm::any_of(op.getOperands(), [&](Value operand) { return accumulated.contains(operand); });
    if (depends || isa<dist::AccumulateOp>(op))
      accumulated.insert(op.result_begin(), op.result_end());
  }
  return accumulated;
}

namespace {

struct PutOffUpdatesPass : train::impl::PutOffUpdatesPassBase<PutOffUpdatesPass> {
  void runOnOperation() override {
    dist::MeshOp meshOp = dist::findMesh(getOperation());
    if (!meshOp)
      return;
    dist::Mesh mesh = meshOp.getMesh();
    std::optional<dist::Axis> axis = mesh.find(dist::AxisKind::Steps);
    if (!axis)
      return;
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    Builder builder(&getContext());
    DictionaryAttr last = builder.getDictionaryAttr(
        builder.getNamedAttr(mesh.getName(*axis), builder.getDenseI64ArrayAttr(mesh.getSize(*axis) - 1)));
    for (auto assign : func->getOps<net::AssignOp>())
      if (net::getRole(assign) == net::Role::Optimize && !dist::kDuringAttr.isOn(assign)) {
        dist::kDuringAttr.set(assign, last);
        ++numPutOff;
      }
    llvm::DenseSet<Value> accumulated = findAccumulated(*func);
    dist::PortAttributes ports;
    for (auto [index, value] : llvm::enumerate(func->getBody().front().getTerminator()->getOperands()))
      if (accumulated.contains(value)) {
        ports.setResult(*func, index, dist::kDuringAttr, last);
        ++numPutOff;
      }
    ports.write();
  }
};

} // namespace
