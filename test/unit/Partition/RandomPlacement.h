//===- RandomPlacement.h - random meshes and placements ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMPLACEMENT_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMPLACEMENT_H

#include "dialects/Dist/Conversions.h"
#include "test/unit/Random.h"
#include "llvm/Support/MathExtras.h"

namespace meshwright::test {

/// A mesh of one to `maxAxes` axes with at most `maxRanks` ranks.
inline dist::Mesh makeMesh(Random &random, unsigned maxAxes, int64_t maxRanks) {
  const std::vector<std::string> all{"dp", "tp", "sp"};
  std::vector<std::string> names(all.begin(), all.begin() + random.pick(1, maxAxes));
  std::vector<int64_t> sizes;
  int64_t ranks = 1;
  for (size_t axis = 0; axis < names.size(); ++axis) {
    int64_t size = random.pick(1, 10) == 1 ? 1 : random.pick(2, 4);
    sizes.push_back(ranks * size <= maxRanks ? size : 1);
    ranks *= sizes.back();
  }
  return dist::Mesh(names, sizes);
}

/// A placement of a value of `shape`: every axis replicated, splitting a dimension by some digit, partial of `kind`, or
/// with one holder if `withHolders`.
inline dist::Placement makePlacement(Random &random, const dist::Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                     std::optional<ReduceKind> kind, bool withHolders = false) {
  auto placement = dist::Placement::replicated(shape.size());
  std::vector<int64_t> extents(shape.begin(), shape.end());
  std::vector<dist::Axis> axes;
  for (dist::Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    axes.insert(axes.begin() + random.pick(0, axes.size()), axis);
  for (dist::Axis axis : axes) {
    int64_t choice = random.pick(0, withHolders ? 12 : 9);
    if (choice > 9) {
      placement.setHolder(axis, random.pick(0, mesh.getSize(axis) - 1));
    } else if (choice < 2 && kind) {
      placement.partialKind = *kind;
      placement.partialAxes.push_back(axis);
    } else if (choice < 8 && !shape.empty()) {
      int64_t dim = random.pick(0, shape.size() - 1), n = mesh.getSize(axis);
      int64_t &extent = extents[dim];
      std::vector<int64_t> divisors;
      for (int64_t count = 1; count <= extent; ++count)
        if (extent % count == 0)
          divisors.push_back(count);
      if (random.chance(30))
        extent /= random.choose(divisors);
      int64_t stride = std::max<int64_t>(llvm::divideCeil(extent, n), 1);
      if (stride < extent && random.chance(20))
        ++stride;
      placement.dims[dim].push_back({axis, extent, stride});
      extent = stride;
    }
  }
  llvm::sort(placement.partialAxes);
  return dist::normalize(placement, mesh);
}

} // namespace meshwright::test

#endif
