//===- Optimum.h - the cheapest plan, by trying all -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_COMPLETE_OPTIMUM_H
#define MESHWRIGHT_TEST_UNIT_COMPLETE_OPTIMUM_H

#include "lib/Complete/Graph.h"

namespace meshwright::test {

/// The bytes that a rank sends for one conversion of a value of `bytes` on an axis of `n` ranks, by ring algorithms.
double getRingBytes(double bytes, const complete::State &from, const complete::State &to, int64_t n);

/// The bytes that `plan` sends: a value is converted once for every placement in which it is read, and at its
/// definition if it is kept in another placement than it is computed in. Infinite if the plan moves a weight or is
/// illegal.
double getPlanBytes(const complete::Graph &graph, const complete::AxisPlan &plan, int64_t n);

/// The fewest bytes that any plan for an axis of `n` ranks sends, among those that take every value in a state that
/// splits of whole dimensions lead to, never move a weight
/// and do not scatter what is returned. Exponential; `limit` is a plan's
/// cost that is known to be possible.
double findFewestBytes(const complete::Graph &graph, dist::Axis axis, int64_t n, double limit);

} // namespace meshwright::test

#endif
