//===- RankProgram.cpp - the program of one rank --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"
#include "dialects/Net/Net.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;

static dist::Mesh getMesh(ModuleOp module) {
  dist::MeshOp mesh = dist::findMesh(module);
  return mesh ? mesh.getMesh() : dist::Mesh();
}

FailureOr<int64_t> meshwright::parseCoordinate(ModuleOp module, StringRef text) {
  dist::Mesh mesh = getMesh(module);
  SmallVector<int64_t> coordinates(mesh.getNumAxes(), 0);
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    std::optional<dist::Axis> axis = mesh.find(name.trim());
    if (!axis)
      return emitError(UnknownLoc::get(module.getContext()))
             << "--coordinate names axis \"" << name << "\", which the mesh does not have";
    int64_t &coordinate = coordinates[*axis];
    if (number.trim().getAsInteger(10, coordinate) || coordinate < 0 || coordinate >= mesh.getSize(*axis))
      return emitError(UnknownLoc::get(module.getContext())) << "--coordinate asks for \"" << number << "\" on axis \""
                                                             << name << "\", which has size " << mesh.getSize(*axis);
  }
  return mesh.getRank(coordinates);
}

LogicalResult meshwright::specializeForRank(ModuleOp module, int64_t rank) {
  dist::Mesh mesh = getMesh(module);
  if (rank < 0 || rank >= mesh.getNumRanks())
    return emitError(UnknownLoc::get(module.getContext()))
           << "there is no rank " << rank << "; the mesh has " << mesh.getNumRanks();
  module.walk([&](dist::CoordinateOp op) {
    OpBuilder builder(op);
    int64_t coordinate = mesh.getCoordinate(rank, *mesh.find(op.getAxis()));
    auto value = DenseElementsAttr::get(cast<RankedTensorType>(op.getType()), static_cast<int32_t>(coordinate));
    op.replaceAllUsesWith(net::ConstantOp::create(builder, op.getLoc(), value).getResult());
    op.erase();
  });
  return success();
}
