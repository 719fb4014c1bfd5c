//===- AdoptShardings.cpp - the mesh and the axes of an annotated graph ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of the batch are those that split inputs, which variables are not: Import has told them apart.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/PortAttributes.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "meshwright/Annotate/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshwright;

/// The axes that split a dimension of an input.
static llvm::SetVector<Attribute> findDataAxes(ModuleOp module) {
  llvm::SetVector<Attribute> axes;
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      if (auto sharding = given::kShardingAttr.getOfArgument(func, index))
        for (unsigned dim = 0; dim < sharding.getRank(); ++dim)
          axes.insert_range(sharding.getAxes(dim));
  return axes;
}

static void markBatches(ModuleOp module, const llvm::SetVector<Attribute> &dataAxes) {
  dist::PortAttributes ports;
  for (auto func : module.getOps<func::FuncOp>())
    for (BlockArgument argument : func.getArguments()) {
      auto sharding = given::kShardingAttr.getOfArgument(func, argument.getArgNumber());
      SmallVector<unsigned> split;
      for (unsigned dim = 0; sharding && dim < sharding.getRank(); ++dim)
        if (!sharding.getAxes(dim).empty())
          split.push_back(dim);
      if (split.size() == 1 && !net::kBatchDimAttr.getOfArgument(func, argument.getArgNumber()))
        ports.set(argument, net::kBatchDimAttr, Builder(module.getContext()).getI64IntegerAttr(split.front()));
    }
  ports.write();
}

LogicalResult annotate::adoptShardings(ModuleOp module, strategy::StrategyFile &strategy) {
  MLIRContext *context = module.getContext();
  given::MeshAttr mesh = given::kMeshAttr.get(module);
  if (!mesh)
    return strategy.adopt(nullptr, context);
  strategy::GraphShardings graph{{}, {}, false, module.getLoc()};
  llvm::SetVector<Attribute> dataAxes = findDataAxes(module);
  for (auto [name, size] : llvm::zip(mesh.getNames(), mesh.getSizes().asArrayRef())) {
    graph.axes.push_back({cast<StringAttr>(name).str(), size});
    if (dataAxes.contains(name))
      graph.dataAxes.push_back(cast<StringAttr>(name).str());
  }
  for (auto variable : module.getOps<net::VariableOp>())
    if (auto sharding = given::kShardingAttr.get(variable))
      graph.storesParameters |=
          variable.getKind() == net::VariableKind::Parameter &&
          llvm::any_of(dataAxes, [&](Attribute axis) { return sharding.findDim(axis).has_value(); });
  if (failed(strategy.adopt(&graph, context)))
    return failure();
  markBatches(module, dataAxes);
  return success();
}
