//===- Mesh.cpp - a named grid of ranks -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Mesh.h"
#include <cassert>

using namespace meshwright::dist;

Mesh::Mesh(llvm::ArrayRef<std::string> names, llvm::ArrayRef<int64_t> sizes)
    : names(names.begin(), names.end()), sizes(sizes.begin(), sizes.end()) {
  assert(names.size() == sizes.size() && "one size per name");
}

std::optional<Axis> Mesh::find(llvm::StringRef name) const {
  for (Axis axis = 0; axis < names.size(); ++axis)
    if (names[axis] == name)
      return axis;
  return std::nullopt;
}

int64_t Mesh::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : sizes)
    ranks *= size;
  return ranks;
}

int64_t Mesh::getGroupSize(llvm::ArrayRef<Axis> axes) const {
  int64_t ranks = 1;
  for (Axis axis : axes)
    ranks *= sizes[axis];
  return ranks;
}

int64_t Mesh::getCoordinate(int64_t rank, Axis axis) const {
  for (Axis minor = getNumAxes() - 1; minor > axis; --minor)
    rank /= sizes[minor];
  return rank % sizes[axis];
}

int64_t Mesh::getRank(llvm::ArrayRef<int64_t> coordinates) const {
  int64_t rank = 0;
  for (Axis axis = 0; axis < getNumAxes(); ++axis)
    rank = rank * sizes[axis] + coordinates[axis];
  return rank;
}
