//===- RankProgram.cpp - the program of one rank --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
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
    if (!axis || mesh.isTime(*axis))
      return emitError(UnknownLoc::get(module.getContext()))
             << "--coordinate names axis \"" << name << "\", which the mesh does not have among those of ranks";
    int64_t &coordinate = coordinates[*axis];
    if (number.trim().getAsInteger(10, coordinate) || coordinate < 0 || coordinate >= mesh.getSize(*axis))
      return emitError(UnknownLoc::get(module.getContext())) << "--coordinate asks for \"" << number << "\" on axis \""
                                                             << name << "\", which has size " << mesh.getSize(*axis);
  }
  return mesh.getRank(coordinates);
}

/// Leaves what the rank with these coordinates runs. A value that it does not have is absent where it is still named:
/// as what others broadcast, and what they return.
static void dropOthers(func::FuncOp func, const dist::Mesh &mesh, ArrayRef<int64_t> coordinates) {
  auto isAbsent = [&](Value value) {
    return value.getDefiningOp<dist::AbsentOp>() || !dist::covers(dist::getOn(value), mesh, coordinates);
  };
  OpBuilder builder(func.getContext());
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front().without_terminator())) {
    builder.setInsertionPoint(&op);
    auto toPartial = dyn_cast<dist::ToPartialOp>(op);
    if (toPartial && toPartial.getCoordinates().empty() && isAbsent(toPartial.getInput())) {
      TypedAttr neutral =
          dist::getNeutralElement(toPartial.getTo().getPartialKind(), getElementTypeOrSelf(toPartial.getResult()));
      auto value = DenseElementsAttr::get(cast<ShapedType>(toPartial.getResult().getType()), cast<Attribute>(neutral));
      toPartial.getResult().replaceAllUsesWith(net::ConstantOp::create(builder, op.getLoc(), value).getResult());
      op.erase();
      continue;
    }
    bool runs = dist::covers(dist::getOn(&op), mesh, coordinates);
    for (Value result : op.getResults())
      if (isAbsent(result) && !result.use_empty())
        result.replaceAllUsesWith(dist::AbsentOp::create(builder, op.getLoc(), result.getType()));
    if (!runs)
      op.erase();
  }
  for (auto absent : llvm::make_early_inc_range(func.getBody().front().getOps<dist::AbsentOp>()))
    if (absent->use_empty())
      absent.erase();
}

LogicalResult meshwright::specializeForRank(ModuleOp module, int64_t rank) {
  dist::Mesh mesh = getMesh(module);
  if (rank < 0 || rank >= mesh.getNumRanks())
    return emitError(UnknownLoc::get(module.getContext()))
           << "there is no rank " << rank << "; the mesh has " << mesh.getNumRanks();
  SmallVector<int64_t> coordinates = dist::getCoordinates(mesh, rank);
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (func.isExternal())
      continue;
    // A rank runs its program in all variants, whatever their times.
    DictionaryAttr ranks = dist::getRanks(dist::getOn(func.getOperation()), mesh);
    if (!ranks)
      dropOthers(func, mesh, coordinates);
    else if (!dist::covers(ranks, mesh, coordinates))
      func.erase();
  }
  module.walk([&](dist::CoordinateOp op) {
    OpBuilder builder(op);
    int64_t coordinate = mesh.getCoordinate(rank, *mesh.find(op.getAxis()));
    auto value = DenseElementsAttr::get(cast<RankedTensorType>(op.getType()), static_cast<int32_t>(coordinate));
    op.replaceAllUsesWith(net::ConstantOp::create(builder, op.getLoc(), value).getResult());
    op.erase();
  });
  return success();
}
