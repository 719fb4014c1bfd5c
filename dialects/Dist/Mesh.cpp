//===- Mesh.cpp - ranks and coordinates as mixed-radix numbers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Mesh.h"
#include <cassert>

using namespace meshwright::dist;

Mesh::Mesh(llvm::ArrayRef<std::string> names, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<AxisKind> kinds)
    : names(names.begin(), names.end()), sizes(sizes.begin(), sizes.end()), kinds(kinds.begin(), kinds.end()) {
  assert(names.size() == sizes.size() && "one size per name");
  assert((kinds.empty() || kinds.size() == sizes.size()) && "one kind per name, or none");
  this->kinds.resize(sizes.size(), AxisKind::Ranks);
}

unsigned Mesh::getNumRankAxes() const {
  unsigned axes = 0;
  while (axes < getNumAxes() && !isTime(axes))
    ++axes;
  return axes;
}

std::optional<Axis> Mesh::find(llvm::StringRef name) const {
  for (Axis axis = 0; axis < names.size(); ++axis)
    if (names[axis] == name)
      return axis;
  return std::nullopt;
}

std::optional<Axis> Mesh::find(AxisKind kind) const {
  for (Axis axis = 0; axis < kinds.size(); ++axis)
    if (kinds[axis] == kind)
      return axis;
  return std::nullopt;
}

int64_t Mesh::getNumRanks() const {
  int64_t ranks = 1;
  for (Axis axis = 0; axis < getNumRankAxes(); ++axis)
    ranks *= sizes[axis];
  return ranks;
}

int64_t Mesh::getGroupSize(llvm::ArrayRef<Axis> axes) const {
  int64_t ranks = 1;
  for (Axis axis : axes)
    ranks *= sizes[axis];
  return ranks;
}

int64_t Mesh::getCoordinate(int64_t rank, Axis axis) const {
  if (isTime(axis))
    return 0;
  for (Axis minor = getNumRankAxes() - 1; minor > axis; --minor)
    rank /= sizes[minor];
  return rank % sizes[axis];
}

int64_t Mesh::getRank(llvm::ArrayRef<int64_t> coordinates) const {
  int64_t rank = 0;
  for (Axis axis = 0; axis < getNumRankAxes(); ++axis)
    rank = rank * sizes[axis] + coordinates[axis];
  return rank;
}
