//===- Grouping.h - ways to group ranks -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_GROUPING_H
#define MESHWRIGHT_RUNTIME_PACKAGE_GROUPING_H

#include "meshwright/runtime/Layout.h"
#include <optional>

namespace meshwright::runtime {

/// A way to group ranks: those that agree on all axes but some, or of each such group the two between which is sent.
struct Grouping {
  Grouping(const Collective &collective, const Mesh &mesh) {
    // Axes of size 1 make no difference to who is in a group.
    for (uint32_t axis : collective.axes())
      if (mesh.getSize(axis) != 1)
        axes.push_back(axis);
    if (collective.kind() == Collective::SEND)
      ends = {collective.parts(0).root(), collective.to()};
  }
  auto operator<=>(const Grouping &) const = default;

  /// The first rank in the group of `rank`; nothing where `rank` has no part in it.
  std::optional<int64_t> getFirst(int64_t rank, const Mesh &mesh) const {
    if (!ends)
      return mesh.getFirstOfGroup(rank, axes);
    std::vector<int64_t> group = mesh.getGroup(rank, axes);
    bool takesPart = group[ends->first] == rank || group[ends->second] == rank;
    return takesPart ? std::optional(group[ends->first]) : std::nullopt;
  }

  std::vector<uint32_t> axes;
  std::optional<std::pair<uint32_t, uint32_t>> ends;
};

} // namespace meshwright::runtime

#endif
