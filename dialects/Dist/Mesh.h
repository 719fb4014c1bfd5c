//===- Mesh.h - a named grid of ranks and times -----------------*- C++ -*-===//
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

/// The meaning of the coordinates of an axis.
enum class AxisKind {
  /// Ranks side by side.
  Ranks,
  /// Times, one after the other on the same ranks: the slices (micro-batches) of a step's batch.
  Slices,
  /// Times too: the steps whose gradients are accumulated into one update.
  Steps,
};

/// A named grid of ranks and times; the first axis is the slowest. Axes of ranks come first. Plain data: algorithms use
/// it without IR.
class Mesh {
public:
  Mesh() = default;
  /// `sizes` has one entry per name, and so has `kinds`; empty `kinds` means that all axes are of ranks.
  Mesh(llvm::ArrayRef<std::string> names, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<AxisKind> kinds = {});

  /// The number of axes, of ranks and of times.
  unsigned getNumAxes() const { return sizes.size(); }
  /// The number of axes of ranks, which are the first.
  unsigned getNumRankAxes() const;
  AxisKind getKind(Axis axis) const { return kinds[axis]; }
  bool isTime(Axis axis) const { return kinds[axis] != AxisKind::Ranks; }
  /// The first axis of that kind, if there is one.
  std::optional<Axis> find(AxisKind kind) const;
  int64_t getSize(Axis axis) const { return sizes[axis]; }
  llvm::StringRef getName(Axis axis) const { return names[axis]; }
  /// The axis of that name, if there is one.
  std::optional<Axis> find(llvm::StringRef name) const;
  /// The product of the sizes of all axes of ranks.
  int64_t getNumRanks() const;
  /// The product of the sizes of `axes`.
  int64_t getGroupSize(llvm::ArrayRef<Axis> axes) const;
  /// The coordinate of `rank` on `axis`; 0 on axes of times.
  int64_t getCoordinate(int64_t rank, Axis axis) const;
  /// The rank with these coordinates, one per axis; those of times do not count.
  int64_t getRank(llvm::ArrayRef<int64_t> coordinates) const;

  bool operator==(const Mesh &) const = default;

private:
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<AxisKind> kinds;
};

} // namespace meshwright::dist

#endif
