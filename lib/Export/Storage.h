//===- Storage.h - a distributed value as one array of a framework -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A framework's array is split evenly, and only the major part of a dimension can be split. Placements say more, so a
// value is *stored* in an array that a plain sharding describes: row-major digits of a dimension become dimensions of
// their own, parts of unequal size are padded to the largest, and a value that ranks hold differently as a whole (a
// part of a sum, or one that has an owner) gets a first dimension with an element per rank.
//
//   [6] on [3, "tp"], tp = 2, reshaped to    [3, 2]   of which "tp" splits the second dimension
//   [7] on ["tp"], tp = 2, padded to         [8]      the last element is no part of the value
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_STORAGE_H
#define MESHWRIGHT_LIB_EXPORT_STORAGE_H

#include "dialects/Dist/Placement.h"
#include "llvm/Support/JSON.h"

namespace meshwright::exporter {

/// The array in which a value of a placement is stored.
struct Storage {
  /// A dimension of the array and the axes that split it, major first.
  struct Dim {
    int64_t size;
    llvm::SmallVector<dist::Axis, 2> axes;
  };
  /// One digit of a dimension of the value: `outer` times the first `extent` of `count` · `part` positions.
  struct Level {
    int64_t outer, extent, count, part;
  };

  Storage(const dist::Placement &placement, const dist::Mesh &mesh, mlir::RankedTensorType global);

  /// The type of the whole array.
  mlir::RankedTensorType getGlobal() const;
  /// The type of the part of a rank.
  mlir::RankedTensorType getLocal(const dist::Mesh &mesh) const;
  /// True if the array is the value itself.
  bool isPlain() const { return getGlobal() == global; }
  /// `[{"dp"}, {}]`
  std::string describeDims(const dist::Mesh &mesh) const;
  /// The value and its storage, for who feeds and reads the array.
  llvm::json::Object toJson(const dist::Mesh &mesh) const;

  mlir::RankedTensorType global;
  llvm::SmallVector<Dim> dims;
  /// The digits of every dimension of the value, major first.
  llvm::SmallVector<llvm::SmallVector<Level>> levels;
  /// Axes on which coordinates hold the value differently, and the only coordinate that holds it or, for a part of a
  /// sum, -1.
  llvm::SmallVector<std::pair<dist::Axis, int64_t>> stacked;
  ReduceKind kind;
};

} // namespace meshwright::exporter

#endif
