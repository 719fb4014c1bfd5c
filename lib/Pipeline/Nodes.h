//===- Nodes.h - which conversions leave a node -----------------*- C++ -*-===//
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
  /// Of a module; where its mesh says nothing of nodes, there is one.
  explicit Nodes(mlir::ModuleOp module);

  /// Whether the mesh says what a node is.
  bool areKnown() const { return ranksPerNode != 0; }
  /// The most nodes that a group of the conversion's has members in: of a send those who send and get, of anything else
  /// all ranks that differ on its axes alone.
  int64_t count(dist::ConversionOpInterface op);

private:
  template <typename Fn> int64_t countMembers(llvm::ArrayRef<dist::Axis> axes, Fn isMember) const;

  dist::Mesh mesh;
  int64_t ranksPerNode = 0;
  /// Of groups over axes in which all take part.
  std::map<llvm::SmallVector<dist::Axis>, int64_t> known;
};

} // namespace meshwright

#endif
