//===- KeepFetches.cpp - parameters are fetched once in a step ------------===//
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

/// Finds what is made of variables alone, and what of it is equal although other parts of the step ask for it.
class Fetches {
public:
  explicit Fetches(ModuleOp module) : symbols(module) {}

  /// Reads `op`, whose operands have been read. What stands for it is an equal operation before it, or `op` itself;
  /// null where it is not made of variables alone.
  Operation *read(Operation *op);
  /// Whether `op` is made of variables alone; its operands have been read.
  bool isEarly(Operation *op) const;

private:
  SmallVector<const void *> getKey(Operation *op) const;

  SymbolTable symbols;
  /// The first of all operations that are equal but for their place in the step.
  std::map<SmallVector<const void *>, Operation *> first;
  llvm::DenseMap<Operation *, Operation *> stands;
};

} // namespace

bool Fetches::isEarly(Operation *op) const {
  if (auto read = dyn_cast<net::ReadOp>(op))
    return !symbols.lookup(read.getVariable())->hasAttr(kWithinStepAttr);
  if (isa<CoordinateOp>(op) || op->getNumResults() != 1 || !isMemoryEffectFree(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return operand.getDefiningOp() && stands.contains(operand.getDefiningOp());
  });
}

/// What an operation does, to what, where: not which part of the step it is of.
SmallVector<const void *> Fetches::getKey(Operation *op) const {
  SmallVector<const void *> key = {op->getName().getAsOpaquePointer(),
                                   op->getPropertiesAsAttribute().getAsOpaquePointer(),
                                   op->getResult(0).getType().getAsOpaquePointer()};
  Attribute on = op->getAttr(kOnAttr);
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
    if (!mesh || !(mesh->hasAttr(kStageAxisAttr) || mesh.getMesh().find(AxisKind::Slices)))
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
          visit(&op, fetches, mesh->getAttr(kStageAxisAttr));
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
    op->setAttr(kOnceAttr, UnitAttr::get(&getContext()));
    if (stands == op)
      return;
    op->getResult(0).replaceAllUsesWith(stands->getResult(0));
    unused.push_back(op);
    ++numShared;
  }

  /// What equal operations stand for; it is told apart by address until all have been read.
  SmallVector<Operation *> unused;
};

} // namespace
