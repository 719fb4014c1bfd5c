//===- Program.cpp - the step that Train extends: queries, names ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of Train find values by `net.name` (`grad/…`, `loss_scale`, `found_inf`) instead of passing them on, so that
// each pass also runs by itself from `dist-opt`.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Support/Programs.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

FailureOr<func::FuncOp> train::findStep(ModuleOp module) {
  func::FuncOp step;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic() || func.isExternal())
      continue;
    if (step) {
      auto diagnostic = func.emitError() << "a program has one public function, but this is the second";
      diagnostic.attachNote(step.getLoc()) << "the first is here";
      return diagnostic;
    }
    step = func;
  }
  if (!step)
    return module.emitError() << "a program has one public function with a body, but there is none";
  if (failed(verifyPrograms(module)))
    return failure();
  return step;
}

Operation *train::findNamed(func::FuncOp func, StringRef name) {
  for (Operation &op : func.getBody().front())
    if (net::getUserName(&op) == name && op.getNumResults() > 0)
      return &op;
  return nullptr;
}

void train::setName(Value value, StringRef name) {
  Operation *op = value.getDefiningOp();
  net::kNameAttr.set(op, StringAttr::get(op->getContext(), name));
}

llvm::MapVector<StringAttr, net::ReadOp> train::collectReads(func::FuncOp func) {
  llvm::MapVector<StringAttr, net::ReadOp> reads;
  for (auto read : func.getOps<net::ReadOp>())
    reads.insert({read.getVariableAttr().getAttr(), read});
  return reads;
}

llvm::MapVector<StringRef, Value> train::collectGradients(func::FuncOp func) {
  llvm::MapVector<StringRef, Value> gradients;
  for (Operation &op : func.getBody().front())
    if (StringRef name = net::getUserName(&op); op.getNumResults() > 0 && name.consume_front(net::kGradientPrefix))
      gradients.insert({name, op.getResult(0)});
  return gradients;
}

static Location locate(Operation *op, unsigned index, ArrayRef<Location> locations) {
  return index < locations.size() ? locations[index] : op->getLoc();
}

LogicalResult train::verifyAllUsed(Operation *op, const GlobList &globs, StringRef option, StringRef candidates,
                                   ArrayRef<Location> locations) {
  if (std::optional<unsigned> index = globs.findUnmatched())
    return emitError(locate(op, *index, locations))
           << option << " glob \"" << globs.get(*index) << "\" matches none of the " << candidates;
  return success();
}

void train::warnOfGlobsWithoutEffect(Operation *op, const GlobList &globs, StringRef option, StringRef reason,
                                     ArrayRef<Location> locations) {
  for (unsigned index : globs.findWithoutEffect())
    emitWarning(locate(op, index, locations))
        << option << " glob \"" << globs.get(index) << "\" has no effect: " << reason;
}

RoleBuilder::RoleBuilder(func::FuncOp func, net::Role role)
    : OpBuilder(func.getBody().front().getTerminator()), role(net::RoleAttr::get(func.getContext(), role)) {
  setListener(this);
}

void RoleBuilder::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  net::kRoleAttr.set(op, role);
  if (scope)
    net::kScopeAttr.set(op, scope);
}
