//===- InlineConditionals.cpp - conditionals in one line with the rest ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes again when the operations of a conditional are needed and compares, because a text may have been edited.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Support.h"
#include "meshwright/Partition/Conditionals.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Support/NeededTimes.h"

namespace meshwright::partition {
#define GEN_PASS_DEF_INLINECONDITIONALSPASS
#include "meshwright/Partition/Passes.h.inc"
} // namespace meshwright::partition

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

namespace {

/// Inlines the conditionals of one function, and checks that this changes no meaning.
class Inliner {
public:
  Inliner(func::FuncOp func, const Mesh &mesh) : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult inlineOne(WhenOp when);
  LogicalResult checkTimes() const;

  func::FuncOp func;
  const Mesh &mesh;
  /// The operations that were in a conditional, with its times.
  SmallVector<std::pair<Operation *, DictionaryAttr>> inlined;
};

} // namespace

LogicalResult Inliner::inlineOne(WhenOp when) {
  DictionaryAttr times = when.getTimes();
  Block &body = when.getBody().front();
  for (Operation &op : body.without_terminator()) {
    inlined.push_back({&op, times});
    auto assign = dyn_cast<net::AssignOp>(op);
    if (!assign)
      continue;
    DictionaryAttr during = kDuringAttr.get(assign);
    for (NamedAttribute entry : times)
      if (during && during.contains(entry.getName()))
        return assign.emitOpError() << "states its times of axis " << entry.getName()
                                    << ", which the conditional around it states";
    kDuringAttr.set(assign, join(during, times));
  }
  when.replaceAllUsesWith(body.getTerminator()->getOperands());
  body.getTerminator()->erase();
  when->getBlock()->getOperations().splice(when->getIterator(), body.getOperations());
  when.erase();
  return success();
}

LogicalResult Inliner::checkTimes() const {
  FailureOr<NeededTimes> needed = NeededTimes::find(func, mesh);
  if (failed(needed))
    return failure();
  for (auto [op, times] : inlined) {
    DictionaryAttr when = needed->get(op);
    if (!when || covers(times, when))
      continue;
    InFlightDiagnostic error = op->emitOpError()
                               << "runs at " << times << " alone, as the conditional around it says, but is needed at ";
    return when.empty() ? error << "all times" : error << when;
  }
  return success();
}

LogicalResult Inliner::run() {
  // A walk meets inner conditionals first; what they hold is then part of the outer one.
  auto walk = func.walk(
      [&](WhenOp when) { return succeeded(inlineOne(when)) ? WalkResult::advance() : WalkResult::interrupt(); });
  return walk.wasInterrupted() ? failure() : inlined.empty() ? success() : checkTimes();
}

LogicalResult partition::inlineConditionals(ModuleOp module) {
  MeshOp meshOp = findMesh(module);
  // The verifier of a conditional has seen that its module has the mesh.
  if (!meshOp)
    return success();
  Mesh mesh = meshOp.getMesh();
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && failed(Inliner(func, mesh).run()))
      return failure();
  return success();
}

FailureOr<ModuleOp> partition::getWithoutConditionals(ModuleOp module, OwningOpRef<ModuleOp> &copy) {
  if (!module.walk([](WhenOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return module;
  copy = module.clone();
  if (failed(inlineConditionals(*copy)))
    return failure();
  return *copy;
}

namespace {

struct InlineConditionalsPass : partition::impl::InlineConditionalsPassBase<InlineConditionalsPass> {
  void runOnOperation() override {
    if (failed(inlineConditionals(getOperation())))
      signalPassFailure();
  }
};

} // namespace
