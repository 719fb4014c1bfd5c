//===- Collectives.h - the kinds of collectives -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that each kind of collective sends, by the formulas of Collectives.def. The planner of conversions,
// Complete and the printed plan all use them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_COLLECTIVES_H
#define MESHWRIGHT_DIALECTS_DIST_COLLECTIVES_H

#include "dialects/Dist/Placement.h"
#include <optional>

namespace meshwright::dist {

/// The kind of collective that `op` is; nothing for a local conversion.
std::optional<CollectiveKind> getCollectiveKind(ConversionOpInterface op);

/// The traffic of a collective with ring algorithms in one group of `n` ranks, summed over all members, as a multiple
/// of B, the larger of the operand and the result of one member:
///
///   | kind                        | B is the size of   | crossings |
///   |-----------------------------|--------------------|-----------|
///   | all-reduce                  | the value          | 2 (n - 1) |
///   | reduce-scatter, reduce      | the operand        | n - 1     |
///   | all-gather, broadcast       | the result         | n - 1     |
///   | all-to-all                  | operand and result | n - 1     |
///   |   along one dimension       | n * slots units    | n - 1     | (Regrouping.h)
///   | send, from one member of n  | the value          | 1         |
inline int64_t countCrossings(CollectiveKind kind, int64_t n) { return getTraits(kind).countCrossings(n); }

/// The bytes that a member of a group of `n` sends on average, where B, as in `countCrossings`, is `bytes`.
double getSentBytes(CollectiveKind kind, double bytes, int64_t n);

/// B of the collective of `kind` that converts a value of `shape` over `axes`, in elements.
int64_t countElements(CollectiveKind kind, const Placement &from, const Placement &to, llvm::ArrayRef<Axis> axes,
                      llvm::ArrayRef<int64_t> shape, const Mesh &mesh);

/// The number of members of a group of `n` that take part: 2 for a send, n for all others.
inline int64_t countParticipants(CollectiveKind kind, int64_t n) { return getTraits(kind).isPair() ? 2 : n; }

} // namespace meshwright::dist

#endif
