//===- Regrouping.h - exchanges along one dimension -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_REGROUPING_H
#define MESHWRIGHT_DIALECTS_DIST_REGROUPING_H

#include "dialects/Dist/Placement.h"

namespace meshwright::dist {

/// The exchange of parts between two digits of one axis in the same dimension. A unit is a run of indices that neither
/// digit divides. Of 6 units, with 2 ranks, where the first digit is [2] of 3 units and the second is [3, 2]:
///
///   before   0 1 2 | 3 4 5      the part of each rank
///   after    0 2 4 | 1 3 5      rank 0 sends unit 1, rank 1 sends unit 4
///
/// Every rank sends `slots` units to every other one, of which some may be padding, and keeps its own.
struct Regrouping {
  /// The ranks of the axis.
  int64_t n;
  /// The units of a rank's part, before and after.
  int64_t numUnits;
  /// The most units that a rank sends to another.
  int64_t slots;
  /// For each sender and receiver `slots` positions of units in the part of the sender.
  llvm::SmallVector<int32_t, 0> sent;
  /// For each receiver the positions of the units of its new part, in its old part followed by the n × `slots` units
  /// received.
  llvm::SmallVector<int32_t, 0> taken;

  /// The exchange over `axis` of `n` ranks in a dimension of `size` indices. Empty if the digits are equal, if some
  /// digit does not divide evenly, or if the tables of units would be too large.
  static std::optional<Regrouping> find(int64_t size, llvm::ArrayRef<Split> from, llvm::ArrayRef<Split> to, Axis axis,
                                        int64_t n);
};

} // namespace meshwright::dist

#endif
