//===- Optimum.h - the cheapest plan, by trying all -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_COMPLETE_OPTIMUM_H
#define MESHWRIGHT_TEST_UNIT_COMPLETE_OPTIMUM_H

#include "lib/Complete/Graph.h"

namespace meshwright::test {

/// What a rank sends for one conversion of a value of so many bytes, on an axis of `n` ranks: the ring formulas.
double getRingBytes(double bytes, const complete::State &from, const complete::State &to, int64_t n);

/// What `plan` sends: a value is converted once for every placement in which it is read, and where it is made if it is
/// kept otherwise than it is computed. Infinite where the plan moves a weight or does what cannot be done.
double getPlanBytes(const complete::Graph &graph, const complete::AxisPlan &plan, int64_t n);

/// The fewest bytes that any plan for an axis of `n` ranks sends, among those that take every value in a state that
/// splits of whole dimensions lead to, never move a weight
/// and do not scatter what is returned. Exponential; `limit` is a plan's
/// cost that is known to be possible.
double findFewestBytes(const complete::Graph &graph, dist::Axis axis, int64_t n, double limit);

} // namespace meshwright::test

#endif
