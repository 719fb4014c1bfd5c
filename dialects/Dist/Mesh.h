//===- Mesh.h - a named grid of ranks ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_MESH_H
#define MESHWRIGHT_DIALECTS_DIST_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshwright::dist {

/// The index of an axis in its mesh.
using Axis = unsigned;

/// A named grid of ranks; the first axis is the slowest. Plain data: algorithms use it without IR.
class Mesh {
public:
  Mesh() = default;
  Mesh(llvm::ArrayRef<std::string> names, llvm::ArrayRef<int64_t> sizes);

  unsigned getNumAxes() const { return sizes.size(); }
  int64_t getSize(Axis axis) const { return sizes[axis]; }
  llvm::StringRef getName(Axis axis) const { return names[axis]; }
  /// The axis of that name, if there is one.
  std::optional<Axis> find(llvm::StringRef name) const;
  /// The product of all sizes.
  int64_t getNumRanks() const;
  /// The product of the sizes of `axes`.
  int64_t getGroupSize(llvm::ArrayRef<Axis> axes) const;
  /// The coordinate of `rank` on `axis`.
  int64_t getCoordinate(int64_t rank, Axis axis) const;
  /// The rank with these coordinates, one per axis.
  int64_t getRank(llvm::ArrayRef<int64_t> coordinates) const;

  bool operator==(const Mesh &) const = default;

private:
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<int64_t> sizes;
};

} // namespace meshwright::dist

#endif
