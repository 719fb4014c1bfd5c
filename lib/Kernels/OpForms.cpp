//===- OpForms.cpp - classifies operations by their lowering --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpForms.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Kernels/KernelBody.h"
#include "meshwright/Kernels/KernelPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using linalg::GenericOp;

const OpForm &OpForms::get(Operation *op) {
  if (const OpForm *form = byOperation.lookup(op))
    return *form;
  SmallVector<Attribute> key = {StringAttr::get(op->getContext(), op->getName().getStringRef()),
                                op->getPropertiesAsAttribute()};
  for (Type type : op->getOperandTypes())
    key.push_back(TypeAttr::get(type));
  for (Type type : op->getResultTypes())
    key.push_back(TypeAttr::get(type));
  // Properties may be absent; the attributes then say all.
  if (!key[1])
    key[1] = op->getAttrDictionary();
  auto [entry, isNew] = known.try_emplace(ArrayAttr::get(op->getContext(), key));
  if (isNew)
    entry->second = std::make_unique<OpForm>(classify(op));
  byOperation[op] = entry->second.get();
  return *entry->second;
}

/// Adds how `main` reads the arguments of `block`; what is read in another way is read by values.
static void findAccesses(Block &block, GenericOp main, OpForm &form) {
  form.maps.assign(block.getNumArguments(), AffineMap());
  for (BlockArgument argument : block.getArguments()) {
    AffineMap map;
    bool direct = true;
    for (OpOperand &use : argument.getUses()) {
      direct &= use.getOwner() == main && main.isDpsInput(&use) && (!map || map == main.getMatchingIndexingMap(&use));
      if (direct)
        map = main.getMatchingIndexingMap(&use);
    }
    if (direct)
      form.maps[argument.getArgNumber()] = map;
  }
}

/// True if the elements of the result have the type of those of the first operand. Integers that differ only in sign
/// are the same to a kernel, but not to a view.
static bool keepsType(Operation *op) {
  return getElementTypeOrSelf(op->getOperand(0).getType()) == getElementTypeOrSelf(op->getResult(0).getType());
}

OpForm OpForms::classify(Operation *op) {
  OpForm form;
  auto lowering = dyn_cast<dist::KernelOpInterface>(op);
  if (!lowering)
    return form;
  form.kind = OpForm::Alone;
  Location location = op->getLoc();
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockEnd(scratch->getBody());
  SmallVector<Type> inputs;
  for (Type type : op->getOperandTypes())
    inputs.push_back(getSignless(type));
  auto func = func::FuncOp::create(builder, location, "tensors", builder.getFunctionType(inputs, {}));
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  FailureOr<SmallVector<Value>> results = lowering.lowerToLinalg(builder, SmallVector<Value>(block->getArguments()));
  if (failed(results) || results->size() != 1)
    return form;
  Operation *result = (*results)[0].getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(result)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    form.kind = dense && dense.isSplat() ? OpForm::Source : OpForm::None;
    return form;
  }
  func::ReturnOp::create(builder, location);
  std::string reason;
  std::unique_ptr<KernelPlan> plan = KernelPlan::create(*block, *results, reason);
  if (!plan)
    return form;
  form.expensive =
      llvm::any_of(plan->nodes, [](const auto &node) { return node->expensive || !node->extracts.empty(); });
  GenericOp main;
  for (GenericOp generic : block->getOps<GenericOp>())
    if (!main || !isParallel(generic) || (isParallel(main) && generic == result))
      main = generic;
  if (!main)
    return form;
  form.domain = main.getStaticLoopRanges();
  findAccesses(*block, main, form);
  if (!isParallel(main)) {
    form.kind = OpForm::Reduce;
    form.kept = getKeptElements(main);
  } else if (main == result && isMove(main) && main.getDpsInputs()[0] == block->getArgument(0) && keepsType(op)) {
    form.kind = OpForm::Move;
  } else {
    form.kind = inputs.empty() ? OpForm::Source : OpForm::Map;
  }
  return form;
}

View schedule::traceView(Value value, ArrayRef<LinearForm> indices, Variables &variables, OpForms &forms,
                         function_ref<bool(Operation *)> stop) {
  SmallVector<LinearForm> at(indices);
  for (Operation *op = value.getDefiningOp(); op && !stop(op); op = value.getDefiningOp()) {
    const OpForm &form = forms.get(op);
    if (form.kind != OpForm::Move)
      break;
    value = op->getOperand(0);
    SmallVector<LinearForm> moved;
    for (AffineExpr expr : form.maps[0].getResults())
      moved.push_back(variables.evaluate(expr, at));
    // Through a chain of reshapes quotients and remainders meet in the position.
    ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
    at = variables.delinearize(variables.linearize(moved, shape), shape);
  }
  return {value, variables.linearize(at, cast<RankedTensorType>(value.getType()).getShape())};
}
