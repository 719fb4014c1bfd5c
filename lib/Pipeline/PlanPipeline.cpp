//===- PlanPipeline.cpp - the part of a plan about the pipeline -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanPipeline.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Stages.h"
#include "meshwright/Support/Units.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// The number of values between actions that the text names.
static constexpr size_t kShownBetween = 5;

std::optional<PlannedPipeline> PlannedPipeline::find(ModuleOp module) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return std::nullopt;
  FailureOr<std::optional<StageMap>> map = StageMap::read(meshOp);
  if (failed(map) || !*map)
    return std::nullopt;
  PlannedPipeline pipeline;
  pipeline.axis = meshOp.getMesh().getName((*map)->getAxis()).str();
  pipeline.order = (*map)->getOrder();
  pipeline.execution = simulate(pipeline.order, {});
  pipeline.stages.resize((*map)->getNumStages());
  SymbolTable symbols(module);
  std::vector<llvm::SetVector<Operation *>> read(pipeline.stages.size());
  module.walk([&](Operation *op) {
    std::optional<int64_t> number = getStage(op);
    if (!number || *number < 0 || *number >= (*map)->getNumStages())
      return;
    PlannedStage &stage = pipeline.stages[*number];
    if (auto costed = dyn_cast<CostOpInterface>(op)) {
      bool isBackward = net::getRole(op) == net::Role::Backward || net::kRecomputesAttr.isOn(op);
      (isBackward ? stage.backwardFlops : stage.forwardFlops) += static_cast<double>(costed.getFlops());
    }
    for (Value operand : op->getOperands())
      if (auto from = operand.getDefiningOp<net::ReadOp>())
        read[*number].insert(symbols.lookup(from.getVariable()));
  });
  for (auto [stage, variables] : llvm::zip(pipeline.stages, read))
    for (Operation *op : variables)
      if (auto variable = cast<net::VariableOp>(op); variable.getKind() == net::VariableKind::Parameter)
        stage.parameterBytes += getBytes(variable.getTensorType());
  return pipeline;
}

void PlannedPipeline::addBetween(ModuleOp module) {
  between.clear();
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto slots = kSlotsAttr.get(variable);
    auto mapping = kMappingAttr.get(variable);
    auto holders = mapping ? mapping.getSupport().getAs<DenseI64ArrayAttr>(axis) : DenseI64ArrayAttr();
    if (!slots || !holders)
      continue;
    int64_t bytes = slots.getInt() * getSlotBytes(variable.getTensorType());
    PlannedBetween &coordinate = between[holders[0]];
    coordinate.values.push_back({variable.getSymName().str(), slots.getInt(), bytes});
    coordinate.bytes += bytes;
    coordinate.slots = std::max(coordinate.slots, slots.getInt());
  }
  for (auto &[coordinate, held] : between)
    llvm::stable_sort(held.values, [](const PlannedBetween::Value &left, const PlannedBetween::Value &right) {
      return left.bytes > right.bytes;
    });
}

/// The tasks of every rank, as `writeCsv` writes them.
static std::vector<std::string> getRows(const schedule::TaskOrder &order) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeCsv(order, stream);
  SmallVector<StringRef> lines;
  StringRef(text).trim().split(lines, '\n');
  return {lines.begin(), lines.end()};
}

static void printBetween(llvm::json::OStream &json, const PlannedBetween &held) {
  json.object([&] {
    json.attribute("bytes", held.bytes);
    json.attribute("slots", held.slots);
    json.attributeArray("values", [&] {
      for (const PlannedBetween::Value &value : held.values)
        json.object([&] {
          json.attribute("bytes", value.bytes);
          json.attribute("slots", value.slots);
          json.attribute("value", value.name);
        });
    });
  });
}

void PlannedPipeline::printJson(llvm::json::OStream &json) const {
  json.attribute("axis", axis);
  json.attributeArray("between_actions", [&] {
    for (const auto &[coordinate, held] : between)
      printBetween(json, held);
  });
  json.attribute("bubble", execution.getBubble());
  json.attribute("in_flight", llvm::json::Array(execution.inFlight));
  json.attribute("micro_batches", order.numMicroBatches);
  json.attribute("order", llvm::json::Array(getRows(order)));
  json.attribute("rank_of_stage", llvm::json::Array(order.rankOfStage));
  json.attributeArray("stages", [&] {
    for (const PlannedStage &stage : stages)
      json.object([&] {
        json.attribute("backward_flops", stage.backwardFlops);
        json.attribute("forward_flops", stage.forwardFlops);
        json.attribute("parameter_bytes", stage.parameterBytes);
      });
  });
}

void PlannedPipeline::printText(llvm::raw_ostream &out) const {
  out << "\npipeline over " << axis << ": " << stages.size() << " stages, " << order.numMicroBatches
      << llvm::format(" micro-batches; with equal tasks ranks wait %.3f of the time they compute\n",
                      execution.getBubble());
  draw(order, execution, {}, out);
  for (auto [number, stage] : llvm::enumerate(stages))
    out << "stage " << number << " on " << order.rankOfStage[number] << ": " << formatOperations(stage.forwardFlops)
        << " forward and " << formatOperations(stage.backwardFlops) << " backward per micro-batch, "
        << formatBytes(stage.parameterBytes) << " of parameters\n";
  for (const auto &[coordinate, held] : between) {
    out << "between actions on " << coordinate << ": " << formatBytes(held.bytes) << " for at most " << held.slots
        << " micro-batches; in flight are " << execution.inFlight[coordinate] << "\n";
    for (const PlannedBetween::Value &value : ArrayRef(held.values).take_front(kShownBetween))
      out << "    " << llvm::right_justify(formatBytes(value.bytes), kBytesWidth) << " in " << value.slots << " slots  "
          << value.name << "\n";
  }
}
