//===- Nodes.h - counts the nodes that conversions span ----------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_NODES_H
#define MESHWRIGHT_LIB_PIPELINE_NODES_H

#include "dialects/Dist/Dist.h"
#include <map>

namespace meshwright {

/// Over how many nodes the members of conversions are spread. A node is so many consecutive ranks of the mesh.
class Nodes {
public:
  /// Reads the size of a node from the module's mesh; without one, all ranks are on one node.
  explicit Nodes(mlir::ModuleOp module);

  /// True if the mesh states the size of a node.
  bool areKnown() const { return ranksPerNode != 0; }
  /// The most nodes that a group of the conversion's has members in: of a send those who send and get, of anything else
  /// all ranks that differ on its axes alone.
  int64_t count(dist::ConversionOpInterface op);

private:
  template <typename Fn> int64_t countMembers(llvm::ArrayRef<dist::Axis> axes, Fn isMember) const;

  dist::Mesh mesh;
  int64_t ranksPerNode = 0;
  /// Counts for groups over axes in which all ranks take part.
  std::map<llvm::SmallVector<dist::Axis>, int64_t> known;
};

} // namespace meshwright

#endif
