//===- MeshFactors.h - parts of the axes of a mesh --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_MESHFACTORS_H
#define MESHWRIGHT_LIB_STABLEHLO_MESHFACTORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshwright::importer {

/// A digit of the coordinate on an axis, as in Shardy's `"x":(before)size`: the axis of size n is `before` × `size` ×
/// the rest, most significant first.
struct AxisPart {
  unsigned axis = 0;
  int64_t before = 1;
  int64_t size = 1;
  bool operator==(const AxisPart &) const = default;
};

/// True if two parts of one axis have a digit in common.
bool overlap(const AxisPart &a, const AxisPart &b);

/// The factors into which axes fall, so that each of the given parts is a run of whole factors.
class MeshFactors {
public:
  explicit MeshFactors(llvm::ArrayRef<int64_t> sizes) : sizes(sizes), cuts(sizes.size()) {}

  /// Notes that `part` has to be a run of factors. `part.before` × `part.size` divides the axis.
  void add(const AxisPart &part);
  /// Finds the factors. Returns an axis whose parts do not fit each other (as 2 × 3 and 3 × 2 of 6), if there is one.
  std::optional<unsigned> find();
  /// The factors of `part`, the most significant one first.
  llvm::SmallVector<AxisPart> getFactors(const AxisPart &part) const;
  /// All factors of `axis`.
  llvm::SmallVector<AxisPart> getFactors(unsigned axis) const { return getFactors({axis, 1, sizes[axis]}); }

private:
  llvm::SmallVector<int64_t> sizes;
  /// For each axis the products of sizes before its factors, with 1 and the size of the axis.
  llvm::SmallVector<llvm::SmallVector<int64_t>> cuts;
};

/// A sharding as XLA writes it, over the devices as one axis (number 0).
struct DeviceSharding {
  int64_t devices = 1;
  /// The parts that split every dimension; empty if the value is whole on every device.
  llvm::SmallVector<llvm::SmallVector<AxisPart>> dims;
  /// True if some of the last dimensions that the text has are those of a program per device.
  bool isManual = false;
};

/// Parses the text of `mhlo.sharding`: `{replicated}`, `{maximal device=0}`, `{devices=[2,1]<=[2]}`,
/// `{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}`, `{devices=[2,2]0,1,2,3}`, with `metadata={…}` anywhere after
/// it. Returns an explanation for other texts.
std::optional<std::string> parseDeviceSharding(llvm::StringRef text, DeviceSharding &sharding);

} // namespace meshwright::importer

#endif
