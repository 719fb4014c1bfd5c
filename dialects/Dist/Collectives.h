//===- Collectives.h - the kinds of collectives -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place of the compiler that knows how much each kind sends. The planner of conversions, Complete and the plan
// that users read all ask here; test/unit/Emit/CollectivesTest.cpp holds the runtime's formula against it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_COLLECTIVES_H
#define MESHWRIGHT_DIALECTS_DIST_COLLECTIVES_H

#include "dialects/Dist/Dist.h"
#include <optional>

namespace meshwright::dist {

/// The kind of the collective that `op` is; nothing for a local conversion.
std::optional<CollectiveKind> getCollectiveKind(ConversionOpInterface op);

/// How often a value of size B crosses a link in one group of `n` ranks, all members together, with ring algorithms. B
/// is the larger of the sizes that one member brings and gets:
///
///   | kind                        | B is the size of   | crossings |
///   |-----------------------------|--------------------|-----------|
///   | all-reduce                  | the value          | 2 (n - 1) |
///   | reduce-scatter, reduce      | the operand        | n - 1     |
///   | all-gather, broadcast       | the result         | n - 1     |
///   | all-to-all                  | operand and result | n - 1     |
///   | send, from one member of n  | the value          | 1         |
int64_t countCrossings(CollectiveKind kind, int64_t n);

/// The bytes that a member of a group of `n` sends, the mean over all n, where B is `bytes`.
double getSentBytes(CollectiveKind kind, double bytes, int64_t n);

/// How many members of a group of `n` take part: those of a send are two.
int64_t countParticipants(CollectiveKind kind, int64_t n);

} // namespace meshwright::dist

#endif
