//===- KeepFetches.cpp - fetches each parameter once per step -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/Net.h"
#include "meshwright/Optimize/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace meshwright::optimize {
#define GEN_PASS_DEF_KEEPFETCHESPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace meshwright::optimize

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

namespace {

/// Finds operations that depend on variables alone, and equal ones among them in different parts of the step.
class Fetches {
public:
  explicit Fetches(ModuleOp module) : symbols(module) {}

  /// Visits `op` after the makers of its operands. Returns its representative, an equal earlier operation or `op`
  /// itself; null if it depends on more than variables.
  Operation *read(Operation *op);
  /// True if `op` depends on variables alone; the makers of its operands have been visited.
  bool isEarly(Operation *op) const;

private:
  SmallVector<const void *> getKey(Operation *op) const;

  SymbolTable symbols;
  /// The first of all operations that are equal except for their place in the step.
  std::map<SmallVector<const void *>, Operation *> first;
  llvm::DenseMap<Operation *, Operation *> stands;
};

} // namespace

bool Fetches::isEarly(Operation *op) const {
  if (auto read = dyn_cast<net::ReadOp>(op))
    return !kWithinStepAttr.isOn(symbols.lookup(read.getVariable()));
  if (isa<CoordinateOp>(op) || op->getNumResults() != 1 || !isMemoryEffectFree(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return operand.getDefiningOp() && stands.contains(operand.getDefiningOp());
  });
}

/// A key of an operation's kind, properties, operands and ranks, without the part of the step that it belongs to.
SmallVector<const void *> Fetches::getKey(Operation *op) const {
  SmallVector<const void *> key = {op->getName().getAsOpaquePointer(),
                                   op->getPropertiesAsAttribute().getAsOpaquePointer(),
                                   op->getResult(0).getType().getAsOpaquePointer()};
  Attribute on = kOnAttr.get(op);
  key.push_back(on ? on.getAsOpaquePointer() : nullptr);
  for (Value operand : op->getOperands())
    key.push_back(stands.lookup(operand.getDefiningOp()));
  return key;
}

Operation *Fetches::read(Operation *op) {
  if (!isEarly(op))
    return nullptr;
  return stands[op] = first.try_emplace(getKey(op), op).first->second;
}

namespace {

struct KeepFetchesPass : optimize::impl::KeepFetchesPassBase<KeepFetchesPass> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh || !(kStageAxisAttr.isOn(mesh) || mesh.getMesh().find(AxisKind::Slices)))
      return;
    unused.clear();
    Fetches fetches(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
      if (failed(nest))
        return signalPassFailure();
      for (Operation &op : llvm::make_early_inc_range(func.getOps()))
        if (!nest->getLoop(&op))
          visit(&op, fetches, kStageAxisAttr.get(mesh));
    }
    for (Operation *op : unused)
      op->erase();
  }

  void visit(Operation *op, Fetches &fetches, Attribute stageAxis) {
    auto conversion = dyn_cast<ConversionOpInterface>(op);
    bool isFetch = conversion && conversion.isCollective() && fetches.isEarly(op) &&
                   !llvm::is_contained(conversion.getAxes(), stageAxis);
    Operation *stands = fetches.read(op);
    if (!isFetch)
      return;
    kOnceAttr.set(op, UnitAttr::get(&getContext()));
    if (stands == op)
      return;
    op->getResult(0).replaceAllUsesWith(stands->getResult(0));
    unused.push_back(op);
    ++numShared;
  }

  /// Replaced operations. They are erased at the end, because `Fetches` identifies operations by address.
  SmallVector<Operation *> unused;
};

} // namespace
