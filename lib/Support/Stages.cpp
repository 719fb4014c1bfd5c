//===- Stages.cpp - stages and coordinates of a pipeline ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Stages.h"
#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

std::optional<int64_t> meshwright::getStage(Operation *op) {
  auto stage = kStageAttr.get(op);
  return stage ? std::optional(stage.getInt()) : std::nullopt;
}

FailureOr<std::optional<StageMap>> StageMap::read(MeshOp op) {
  auto name = kStageAxisAttr.get(op);
  if (!name)
    return std::optional<StageMap>();
  Mesh mesh = op.getMesh();
  std::optional<Axis> axis = mesh.find(name.getValue());
  if (!axis || mesh.isTime(*axis))
    return op.emitOpError() << "names \"" << name.getValue()
                            << "\" as the axis of a pipeline, which is not an axis of ranks";
  auto text = kTaskOrderAttr.get(op);
  if (!text)
    return op.emitOpError() << "has a pipeline along axis \"" << name.getValue() << "\" without " << kTaskOrderAttr;
  llvm::Expected<schedule::TaskOrder> order = schedule::readCsv(text.getValue());
  if (!order)
    return op.emitOpError() << "has a " << kTaskOrderAttr
                            << " that cannot be read: " << llvm::toString(order.takeError());
  if (llvm::Error error = schedule::check(*order))
    return op.emitOpError() << "has a " << kTaskOrderAttr
                            << " that is not a valid order: " << llvm::toString(std::move(error));
  if (order->getNumRanks() != mesh.getSize(*axis))
    return op.emitOpError() << "has a " << kTaskOrderAttr << " of " << order->getNumRanks() << " ranks, but axis \""
                            << name.getValue() << "\" has size " << mesh.getSize(*axis);
  StageMap map;
  map.axis = *axis;
  map.order = std::move(*order);
  return std::optional(std::move(map));
}

FailureOr<std::optional<int64_t>> StageMap::getCoordinate(Operation *op) const {
  std::optional<int64_t> stage = getStage(op);
  if (!stage)
    return std::optional<int64_t>();
  if (*stage < 0 || *stage >= getNumStages())
    return op->emitOpError() << "is of stage " << *stage << ", but the order of tasks has " << getNumStages()
                             << " stages";
  return std::optional(getCoordinate(*stage));
}

bool StageMap::isOn(Operation *op, int64_t coordinate) const {
  std::optional<int64_t> stage = getStage(op);
  return stage && *stage >= 0 && *stage < getNumStages() && getCoordinate(*stage) == coordinate;
}

bool StageMap::areTogether(Operation *op, Operation *other) const {
  std::optional<int64_t> stage = getStage(op);
  return stage && *stage >= 0 && *stage < getNumStages() && isOn(other, getCoordinate(*stage));
}
