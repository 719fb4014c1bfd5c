//===- RankArithmetic.cpp - axes of a mesh in lists of ranks --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A number that coordinates spell is linear in them, so the steps from rank 0 along each axis are the weights of the
// digits. Every rank is then compared with the number that these weights give it.
//
//===----------------------------------------------------------------------===//

#include "RankArithmetic.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

std::optional<Axes> importer::findDigits(const Mesh &mesh, ArrayRef<int64_t> values) {
  SmallVector<std::pair<int64_t, Axis>> weights;
  SmallVector<int64_t> coordinates(mesh.getNumAxes(), 0);
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis) {
    if (mesh.getSize(axis) == 1)
      continue;
    coordinates[axis] = 1;
    if (int64_t weight = values[mesh.getRank(coordinates)] - values[0])
      weights.push_back({weight, axis});
    coordinates[axis] = 0;
  }
  llvm::sort(weights, [](const auto &left, const auto &right) { return left.first > right.first; });
  Axes axes = llvm::map_to_vector<2>(weights, [](const auto &weight) { return weight.second; });
  for (int64_t rank = 0, ranks = mesh.getNumRanks(); rank < ranks; ++rank) {
    int64_t value = 0;
    for (Axis axis : axes)
      value = value * mesh.getSize(axis) + mesh.getCoordinate(rank, axis);
    if (value != values[rank])
      return std::nullopt;
  }
  return axes;
}

std::optional<Axes> importer::findAxes(const Mesh &mesh, ArrayRef<SmallVector<int64_t>> groups) {
  int64_t ranks = mesh.getNumRanks();
  SmallVector<int64_t> places(ranks, -1);
  for (const SmallVector<int64_t> &group : groups)
    for (auto [place, rank] : llvm::enumerate(group)) {
      if (rank < 0 || rank >= ranks || places[rank] >= 0)
        return std::nullopt;
      places[rank] = static_cast<int64_t>(place);
    }
  if (llvm::is_contained(places, -1))
    return std::nullopt;
  std::optional<Axes> axes = findDigits(mesh, places);
  if (!axes)
    return std::nullopt;
  for (const SmallVector<int64_t> &group : groups) {
    if (static_cast<int64_t>(group.size()) != mesh.getGroupSize(*axes))
      return std::nullopt;
    for (int64_t rank : group)
      for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
        if (!llvm::is_contained(*axes, axis) &&
            mesh.getCoordinate(rank, axis) != mesh.getCoordinate(group.front(), axis))
          return std::nullopt;
  }
  return axes;
}

std::string importer::printMesh(const Mesh &mesh) {
  std::string text;
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
    text += (axis ? "," : "") + mesh.getName(axis).str() + "=" + std::to_string(mesh.getSize(axis));
  return text;
}

ArrayAttr importer::getNames(MLIRContext *context, const Mesh &mesh, ArrayRef<Axis> axes) {
  SmallVector<StringRef> names = llvm::map_to_vector(axes, [&](Axis axis) { return mesh.getName(axis); });
  return Builder(context).getStrArrayAttr(names);
}
