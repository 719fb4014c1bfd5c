//===- StageProgram.cpp - selects operations that get a stage -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageProgram.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Support/Bytes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;

/// True if `op` reads a variable with a stage. Counters and the loss scale are on all ranks.
static bool readsStagedVariable(net::ReadOp op, SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<net::VariableOp>(op, op.getVariableAttr());
  return variable &&
         (variable.getKind() == net::VariableKind::Parameter || variable.getKind() == net::VariableKind::Buffer);
}

StageProgram::StageProgram(func::FuncOp func) : func(func) {
  SmallVector<Operation *, 0> all = findStaged();
  // Operations on variables alone belong to forward if forward needs them.
  llvm::DenseSet<Operation *> needed;
  for (Operation *op : llvm::reverse(all))
    if (net::getRole(op) != net::Role::Backward &&
        (!isOfVariables(op) || llvm::any_of(op->getUsers(), [&](Operation *user) { return needed.contains(user); })))
      needed.insert(op);
  for (Operation *op : all)
    (needed.contains(op) ? forward : backward).push_back(op);
}

SmallVector<Operation *, 1> StageProgram::getReads(Operation *op) const {
  llvm::SmallSetVector<Operation *, 4> reads;
  for (Value operand : op->getOperands())
    if (auto found = readsOf.find(operand.getDefiningOp()); found != readsOf.end())
      reads.insert(found->second.begin(), found->second.end());
  return SmallVector<Operation *, 1>(reads.getArrayRef());
}

/// Operations that depend on a variable with a stage, except those of the update.
SmallVector<Operation *, 0> StageProgram::findStaged() {
  SmallVector<Operation *, 0> all;
  SymbolTableCollection symbols;
  // Values that depend on such a variable, and values that depend on an input.
  llvm::DenseSet<Value> staged, fed;
  fed.insert(func.getArguments().begin(), func.getArguments().end());
  for (Operation &op : func.getBody().front()) {
    if (op.getNumResults() == 0 || net::getRole(&op) == net::Role::Optimize)
      continue;
    auto dependsOn = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(), [&](Value operand) { return values.contains(operand); });
    };
    if (dependsOn(fed))
      fed.insert(op.result_begin(), op.result_end());
    auto read = dyn_cast<net::ReadOp>(op);
    if (!dependsOn(staged) && !(read && readsStagedVariable(read, symbols)))
      continue;
    staged.insert(op.result_begin(), op.result_end());
    if (!dependsOn(fed))
      readsOf.try_emplace(&op, read ? SmallVector<Operation *, 1>{&op} : getReads(&op));
    all.push_back(&op);
  }
  return all;
}

void annotate::setStage(Operation *op, int64_t stage) {
  dist::kStageAttr.set(op, IntegerAttr::get(IntegerType::get(op->getContext(), 64), stage));
}

int64_t annotate::getBytes(Value value) { return meshwright::getBytes(cast<RankedTensorType>(value.getType())); }

StringRef annotate::getScope(Operation *op) {
  auto scope = net::kScopeAttr.get(op);
  return scope ? scope.getValue() : StringRef();
}
