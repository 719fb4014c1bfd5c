//===- Stages.cpp - writes the stages of a pipeline to the IR -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heavy operations and operations on parameters belong to the stage of their block. All others go where the least is
// sent: first forward, from earlier to later stages, then backward, from later to earlier stages, where values of
// forward are already available. Parameters follow their readers.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"
#include "BackwardStages.h"
#include "dialects/Dist/Dist.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::annotate;
using namespace meshwright::dist;

/// Keeps every variable on the coordinate of its stage.
static void placeVariables(ModuleOp module, const llvm::MapVector<StringAttr, int64_t> &stages,
                           const schedule::TaskOrder &order, StringRef axis) {
  MLIRContext *context = module.getContext();
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto stage = stages.find(variable.getSymNameAttr());
    if (stage == stages.end())
      continue;
    auto kept = kMappingAttr.get(variable);
    SmallVector<DigitsAttr> dims(variable.getTensorType().getRank(), DigitsAttr::get(context, {}));
    auto support = DictionaryAttr::get(
        context, NamedAttribute(StringAttr::get(context, axis),
                                DenseI64ArrayAttr::get(context, {order.rankOfStage[stage->second]})));
    kMappingAttr.set(variable, MappingAttr::get(context, kept ? kept.getDims() : ArrayRef<DigitsAttr>(dims),
                                                ReduceKind::Sum, ArrayAttr::get(context, {}), support));
  }
}

/// Checks that backward and update can be told apart, which Train or Import's recognition ensures. A network without
/// either is a pipeline of forwards.
static LogicalResult checkWithoutTrain(ModuleOp module, const strategy::StrategyFile &file) {
  SymbolTable symbols(module);
  for (auto func : module.getOps<func::FuncOp>())
    for (auto assign : func.getOps<net::AssignOp>()) {
      auto variable = symbols.lookup<net::VariableOp>(assign.getVariable());
      if (variable.getKind() != net::VariableKind::Parameter || net::getRole(assign) == net::Role::Optimize)
        continue;
      auto error =
          emitError(file.getLoc(module.getContext(), "pipeline"))
          << "a pipeline needs to know backward, but there is no train, and neither scopes nor data flow show backward "
             "in the graph, which assigns "
          << assign.getVariableAttr() << " itself; export it with debug locations";
      error.attachNote(assign.getLoc()) << "assigned here";
      return failure();
    }
  return success();
}

LogicalResult annotate::annotateStages(ModuleOp module, const strategy::StrategyFile &file, StageBound *bound) {
  StringRef axis = file.getStageAxis();
  if (axis.empty())
    return success();
  if (!file.get().has_train() && failed(checkWithoutTrain(module, file)))
    return failure();
  MLIRContext *context = module.getContext();
  FailureOr<schedule::TaskOrder> order = file.makeTaskOrder(context);
  if (failed(order))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  schedule::writeCsv(*order, stream);
  MeshOp mesh = findMesh(module);
  kStageAxisAttr.set(mesh, StringAttr::get(context, axis));
  kTaskOrderAttr.set(mesh, StringAttr::get(context, text));
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    StageProgram program(func);
    FailureOr<StageCut> cut = findCut(program, file, *order, bound);
    if (failed(cut))
      return failure();
    ForwardStages forward(program, *cut, order->getNumStages());
    if (failed(forward.place(file.getLoc(context, "pipeline.stages"))))
      return failure();
    BackwardStages(program, *cut, forward, order->getNumStages()).place();
    placeVariables(module, forward.getStagesOfVariables(), *order, axis);
  }
  return success();
}
