//===- RecognizeStep.cpp - roles and gradients of a whole step ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph that assigns its variables itself shows their roles by data flow. Later stages use roles, kinds and the names
// of gradients for better plans only: a value that is not recognized is distributed like any other, and the step stays
// correct.
//
//===----------------------------------------------------------------------===//

#include "StepFlow.h"
#include "dialects/Net/Net.h"
#include "meshwright/Import/Names.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_RECOGNIZESTEPPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

static ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

static bool isBackward(Operation *op) { return op && net::getRole(op) == net::Role::Backward; }

static bool isUpdate(Operation *op) { return op && net::getRole(op) == net::Role::Optimize; }

/// The operations of the update, given the roles that scopes state.
static SmallVector<Operation *> findUpdate(func::FuncOp func) {
  // Forward pass in program order: operations that depend on backward and are not part of it.
  llvm::DenseSet<Operation *> dependents;
  for (Operation &op : func.getBody().front().without_terminator())
    if (!isBackward(&op) && llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return isBackward(maker) || dependents.contains(maker);
        }))
      dependents.insert(&op);
  // Reverse pass: operations that a result or backward needs precede the update, unless they depend on backward.
  llvm::DenseSet<Operation *> before;
  auto need = [&](Operation *reader) {
    for (Value operand : reader->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && !dependents.contains(maker))
        before.insert(maker);
  };
  SmallVector<Operation *> update;
  for (Operation &op : llvm::reverse(func.getBody().front())) {
    // Assignments of forward, such as batch statistics, are not part of the update.
    bool isForwardAssign = isa<net::AssignOp>(op) && !dependents.contains(&op);
    if (isa<func::ReturnOp>(op) || isBackward(&op) || before.contains(&op) || isForwardAssign)
      need(&op);
    else
      update.push_back(&op);
  }
  std::reverse(update.begin(), update.end());
  return update;
}

namespace {

/// Finds the gradient of each update; visits each operation of the update once.
class GradientFinder {
public:
  /// The value of backward from which `assign` computes its value, if it is unique, has the same shape, and is not read
  /// by another variable's update. Null otherwise. Does not follow scalars: a global norm depends on all gradients.
  Value find(net::AssignOp assign);

private:
  void follow(Value value, Operation *assign);

  llvm::DenseMap<Operation *, Operation *> visitedFor;
  SmallVector<Operation *> pending;
  SetVector<Value> found;
  bool isShared = false;
};

/// Looks up parameters by suffixes of their names.
class ParameterIndex {
public:
  explicit ParameterIndex(ModuleOp module);

  /// The parameter whose name shares the longest suffix with that of `state`, if it has the same shape too.
  net::VariableOp findLike(net::VariableOp state) const;

private:
  /// Null if several parameters share the suffix.
  llvm::StringMap<net::VariableOp> byEnd;
};

} // namespace

void GradientFinder::follow(Value value, Operation *assign) {
  Operation *maker = value.getDefiningOp();
  if (!maker || getShape(value).empty())
    return;
  if (isBackward(maker)) {
    found.insert(value);
    return;
  }
  // Broadcasts of scalars may be shared between updates.
  bool isSpread = llvm::all_of(maker->getOperands(), [](Value operand) { return getShape(operand).empty(); });
  if (!isUpdate(maker) || isSpread)
    return;
  auto [entry, isNew] = visitedFor.try_emplace(maker, assign);
  isShared |= entry->second != assign;
  if (isNew)
    pending.push_back(maker);
}

Value GradientFinder::find(net::AssignOp assign) {
  found.clear();
  isShared = false;
  follow(assign.getValue(), assign);
  while (!pending.empty())
    for (Value operand : pending.pop_back_val()->getOperands())
      follow(operand, assign);
  bool isOne = found.size() == 1 && !isShared && getShape(found.front()) == getShape(assign.getValue());
  return isOne ? found.front() : Value();
}

ParameterIndex::ParameterIndex(ModuleOp module) {
  for (auto variable : module.getOps<net::VariableOp>()) {
    if (variable.getKind() != net::VariableKind::Parameter)
      continue;
    for (StringRef end = variable.getSymName(); !end.empty(); end = splitComponent(end).second) {
      auto [entry, isNew] = byEnd.try_emplace(end, variable);
      if (!isNew)
        entry->second = net::VariableOp();
    }
  }
}

net::VariableOp ParameterIndex::findLike(net::VariableOp state) const {
  if (state.getTensorType().getRank() == 0)
    return {};
  for (StringRef end = state.getSymName(); !end.empty(); end = splitComponent(end).second)
    if (auto known = byEnd.find(end); known != byEnd.end()) {
      net::VariableOp parameter = known->second;
      bool isLike = parameter && parameter.getTensorType().getShape() == state.getTensorType().getShape();
      return isLike ? parameter : net::VariableOp();
    }
  return {};
}

namespace {

struct RecognizeStep : importer::impl::RecognizeStepPassBase<RecognizeStep> {
  void runOnOperation() override {
    func::FuncOp graph = findGraph(getOperation());
    if (!graph)
      return signalPassFailure();
    Block &body = graph.getBody().front();
    // Leaves a step alone that was recognized before or has no backward.
    if (body.getOps<net::AssignOp>().empty() || llvm::any_of(body, [](Operation &op) { return isUpdate(&op); }))
      return;
    auto hasBackward = [&] { return llvm::any_of(body, [](Operation &op) { return isBackward(&op); }); };
    if (!hasBackward())
      markBackward(graph);
    if (!hasBackward())
      return;
    // Operations that shared a dictionary of attributes share one afterwards too.
    llvm::DenseMap<DictionaryAttr, DictionaryAttr> changed;
    for (Operation *op : findUpdate(graph)) {
      // A loop ends with the role with which it began: no operation reads its end.
      auto end = dyn_cast<net::EndLoopOp>(op);
      if (Operation *begin = end ? end.getIndex().getDefiningOp() : nullptr)
        net::setRole(op, net::getRole(begin).value_or(net::Role::Forward));
      else
        markUpdate(op, changed);
      ++numUpdates;
    }
    chooseKinds(graph);
    nameGradients(graph);
  }

  static void markUpdate(Operation *op, llvm::DenseMap<DictionaryAttr, DictionaryAttr> &changed) {
    auto [entry, isNew] = changed.try_emplace(op->getDiscardableAttrDictionary());
    if (!isNew) {
      op->setDiscardableAttrs(entry->second);
      return;
    }
    net::setRole(op, net::Role::Optimize);
    entry->second = op->getDiscardableAttrDictionary();
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  void chooseKinds(func::FuncOp graph) {
    SymbolTable symbols(getOperation());
    llvm::DenseMap<StringAttr, net::ReadOp> reads;
    for (auto read : graph.getOps<net::ReadOp>())
      reads.try_emplace(read.getVariableAttr().getAttr(), read);
    auto variables = getOperation().getOps<net::VariableOp>();
    bool hasParameters = llvm::any_of(
        variables, [](net::VariableOp variable) { return variable.getKind() == net::VariableKind::Parameter; });
    for (auto assign : graph.getOps<net::AssignOp>()) {
      auto variable = symbols.lookup<net::VariableOp>(assign.getVariable());
      net::ReadOp read = reads.lookup(assign.getVariableAttr().getAttr());
      if (variable.getKind() != net::VariableKind::Buffer)
        continue;
      variable.setKind(chooseKind(variable, read, isUpdate(assign), hasParameters));
      // State that no step reads may start with any value.
      if (!read && !variable.getInitAttr())
        variable.setInitAttr(net::InitializerAttr::get(&getContext(), net::InitializerKind::Constant, 0.0, 0.0));
    }
    ParameterIndex parameters(getOperation());
    for (net::VariableOp variable : variables)
      describeState(variable, parameters);
  }

  static net::VariableKind chooseKind(net::VariableOp variable, net::ReadOp read, bool isUpdated, bool hasParameters) {
    auto type = variable.getTensorType();
    if (isa<IntegerType>(type.getElementType()))
      return type.getRank() == 0 ? net::VariableKind::Counter : net::VariableKind::Buffer;
    if (!isUpdated)
      return net::VariableKind::Buffer;
    return hasParameters || !read || isUpdate(read) ? net::VariableKind::OptimizerState : net::VariableKind::Parameter;
  }

  /// Adds the initializer and the parameter (`like`) that Train adds to its own state.
  static void describeState(net::VariableOp variable, const ParameterIndex &parameters) {
    net::VariableKind kind = variable.getKind();
    if (kind != net::VariableKind::OptimizerState && kind != net::VariableKind::Counter)
      return;
    if (!variable.getInitAttr())
      variable.setInitAttr(net::InitializerAttr::get(variable.getContext(), net::InitializerKind::Constant, 0.0, 0.0));
    if (net::VariableOp parameter = parameters.findLike(variable))
      variable.setLike(parameter.getSymName());
  }

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  void nameGradients(func::FuncOp graph) {
    SymbolTable symbols(getOperation());
    GradientFinder finder;
    SmallVector<std::pair<StringRef, Value>> gradients;
    for (auto assign : graph.getOps<net::AssignOp>())
      if (symbols.lookup<net::VariableOp>(assign.getVariable()).getKind() == net::VariableKind::Parameter)
        if (Value gradient = finder.find(assign))
          gradients.emplace_back(assign.getVariable(), gradient);
    for (auto [parameter, gradient] : gradients)
      nameGradient(parameter, gradient);
    numGradients += gradients.size();
  }

  void nameGradient(StringRef parameter, Value gradient) {
    Operation *maker = gradient.getDefiningOp();
    // The same value may be the gradient of two parameters.
    if (net::kNameAttr.isOn(maker))
      return;
    net::kNameAttr.set(maker, StringAttr::get(&getContext(), net::kGradientPrefix + parameter));
  }
};

} // namespace
