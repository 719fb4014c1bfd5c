//===- Nodes.cpp - counts the nodes that conversions span -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nodes.h"
#include "dialects/Dist/Support.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

Nodes::Nodes(ModuleOp module) {
  MeshOp op = findMesh(module);
  if (!op)
    return;
  mesh = op.getMesh();
  if (auto ranks = kRanksPerNodeAttr.get(op))
    ranksPerNode = std::max<int64_t>(ranks.getInt(), 0);
}

/// Ranks ascend, so the nodes of each group are met in their order.
template <typename Fn> int64_t Nodes::countMembers(ArrayRef<Axis> axes, Fn isMember) const {
  struct Group {
    int64_t nodes = 0, last = -1;
  };
  llvm::DenseMap<int64_t, Group> groups;
  int64_t most = 1;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    SmallVector<int64_t> coordinates = getCoordinates(mesh, rank);
    if (!isMember(coordinates))
      continue;
    for (Axis axis : axes)
      coordinates[axis] = 0;
    Group &group = groups[mesh.getRank(coordinates)];
    if (group.last != rank / ranksPerNode)
      ++group.nodes;
    group.last = rank / ranksPerNode;
    most = std::max(most, group.nodes);
  }
  return most;
}

int64_t Nodes::count(ConversionOpInterface op) {
  if (!areKnown())
    return 1;
  SmallVector<Axis> axes;
  for (StringRef name : op.getAxes().getAsValueRange<StringAttr>())
    axes.push_back(*mesh.find(name));
  if (isa<SendOp>(op))
    return countMembers(axes, [&](ArrayRef<int64_t> coordinates) {
      return covers(op.getFrom().getSupport(), mesh, coordinates) || covers(op.getTo().getSupport(), mesh, coordinates);
    });
  auto [entry, isNew] = known.try_emplace(axes, 0);
  if (isNew)
    entry->second = countMembers(axes, [](ArrayRef<int64_t>) { return true; });
  return entry->second;
}
