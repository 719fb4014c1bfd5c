//===- PlacementTable.cpp - placements of values, resolved once -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placements are resolved against the mesh once per attribute and shape, since many values share few placements, and
// compared by attribute afterwards.
//
//===----------------------------------------------------------------------===//

#include "PlacementTable.h"
#include "dialects/Dist/Conversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

FailureOr<MeshOp> partition::requireMesh(ModuleOp module) {
  if (MeshOp mesh = findMesh(module))
    return mesh;
  return module.emitOpError() << "has no mesh to be partitioned over";
}

LogicalResult partition::verifyGlobal(ModuleOp module) {
  for (auto variable : module.getOps<net::VariableOp>())
    if (net::kGlobalTypeAttr.isOn(variable))
      return variable.emitOpError() << "has its local shape already; a program is partitioned once";
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      if (func.getArgAttr(index, net::kGlobalTypeAttr))
        return func.emitOpError() << "has argument " << index
                                  << " in its local shape already; a program is partitioned once";
  return success();
}

FailureOr<MappingAttr> PlacementTable::normalize(Attribute attribute, Type type, Operation *op) {
  auto mapping = dyn_cast_or_null<MappingAttr>(attribute);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!mapping || !tensor)
    return op->emitOpError() << "has a value of " << type << " without placement";
  MappingAttr &normal = normalForms[{mapping, tensor}];
  if (normal)
    return normal;
  FailureOr<Placement> placement =
      Placement::resolve(mapping, mesh, tensor.getShape(), [&] { return op->emitOpError(); });
  if (failed(placement))
    return failure();
  Placement normalized = dist::normalize(*placement, mesh);
  if (failed(checkSupport(normalized, mesh, [&] { return op->emitOpError(); })))
    return failure();
  normal = normalized.toAttr(op->getContext(), mesh, tensor.getShape());
  placements[{normal, tensor}] = std::make_unique<Placement>(std::move(normalized));
  return normal;
}

const Placement &PlacementTable::resolve(MappingAttr mapping, Type type) {
  auto it = placements.find({mapping, type});
  assert(it != placements.end() && "a normal form was resolved when it was made");
  return *it->second;
}

FailureOr<MappingAttr> PlacementTable::getArgument(func::FuncOp func, unsigned index) {
  auto mapping = kMappingAttr.getOfArgument(func, index);
  if (!mapping)
    return func.emitOpError() << "has argument " << index << " without placement";
  return normalize(mapping, func.getArgument(index).getType(), func);
}

FailureOr<MappingAttr> PlacementTable::getKept(FlatSymbolRefAttr name, Operation *user) {
  auto variable = symbols.lookup<net::VariableOp>(name.getAttr());
  if (!variable)
    return user->emitOpError() << "names " << name << ", which is no variable";
  auto mapping = kMappingAttr.get(variable);
  if (!mapping)
    return variable.emitOpError() << "has no placement in which it is kept";
  auto global = net::kGlobalTypeAttr.get(variable);
  return normalize(mapping, global ? global.getValue() : variable.getType(), variable);
}

FailureOr<MappingAttr> PlacementTable::getDefinition(Value value, Operation *user) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!func)
      return user->emitOpError() << "reads an argument of a region, which has no placement";
    return getArgument(func, argument.getArgNumber());
  }
  FailureOr<SmallVector<MappingAttr>> results = getResults(value.getDefiningOp());
  if (failed(results))
    return failure();
  return (*results)[cast<OpResult>(value).getResultNumber()];
}

/// The entries of `name` on `op`, one for each of `values`; empty if the attribute is absent.
static FailureOr<ArrayRef<Attribute>> getList(Operation *op, StringRef name, ValueRange values) {
  auto list = op->getAttrOfType<ArrayAttr>(name);
  if (!list)
    return ArrayRef<Attribute>();
  if (list.size() != values.size())
    return op->emitOpError() << "has " << list.size() << " placements in " << name << " for " << values.size()
                             << " values";
  return list.getValue();
}

FailureOr<SmallVector<MappingAttr>> PlacementTable::getOperands(Operation *op) {
  SmallVector<MappingAttr> mappings;
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    FailureOr<MappingAttr> mapping = normalize(reshard.getFrom(), reshard.getInput().getType(), op);
    if (failed(mapping))
      return failure();
    mappings.push_back(*mapping);
    return mappings;
  }
  FailureOr<ArrayRef<Attribute>> list = getList(op, kOperandsAttr, op->getOperands());
  if (failed(list))
    return failure();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    FailureOr<MappingAttr> mapping =
        list->empty() ? getDefinition(operand, op) : normalize((*list)[index], operand.getType(), op);
    if (failed(mapping))
      return failure();
    mappings.push_back(*mapping);
  }
  return mappings;
}

FailureOr<SmallVector<MappingAttr>> PlacementTable::getResults(Operation *op) {
  SmallVector<MappingAttr> mappings;
  auto reshard = dyn_cast<ReshardOp>(op);
  FailureOr<ArrayRef<Attribute>> list = getList(op, kResultsAttr, op->getResults());
  if (failed(list))
    return failure();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Attribute stated = reshard ? reshard.getTo() : list->empty() ? Attribute() : (*list)[index];
    FailureOr<MappingAttr> mapping = normalize(stated, result.getType(), op);
    if (failed(mapping))
      return failure();
    mappings.push_back(*mapping);
  }
  return mappings;
}

FailureOr<SmallVector<MappingAttr>> PlacementTable::getComputes(Operation *op) {
  FailureOr<ArrayRef<Attribute>> list = getList(op, kComputesAttr, op->getResults());
  if (failed(list))
    return failure();
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    FailureOr<MappingAttr> kept = getKept(read.getVariableAttr(), op);
    if (failed(kept))
      return failure();
    return SmallVector<MappingAttr>{*kept};
  }
  if (list->empty())
    return getResults(op);
  SmallVector<MappingAttr> mappings;
  for (auto [stated, result] : llvm::zip(*list, op->getResults())) {
    FailureOr<MappingAttr> mapping = normalize(stated, result.getType(), op);
    if (failed(mapping))
      return failure();
    mappings.push_back(*mapping);
  }
  return mappings;
}
