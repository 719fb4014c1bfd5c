//===- AxisSolver.cpp - placements on one mesh axis -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisSolver.h"
#include "SecondLook.h"

using namespace meshwright;
using namespace meshwright::complete;

/// Bound on the rounds that re-place values carried by loops.
static constexpr int kMaxCarried = 4;

using Look = bool(const AxisProblem &, const AxisSweep &, Annotations &);

using Count = double(const AxisProblem &, const AxisPlan &);

/// Repeats all decisions with the annotations of `look`, and keeps them if `count` is smaller then.
static void improve(const AxisProblem &problem, AxisSweep &sweep, Annotations &notes, Look &look,
                    Count &count = countCost) {
  double before = count(problem, sweep.plan);
  Annotations notesBefore = notes;
  if (!look(problem, sweep, notes))
    return;
  sweep.run();
  if (count(problem, sweep.plan) < before)
    return;
  notes = std::move(notesBefore);
  sweep.run();
}

AxisPlan complete::solveAxis(const AxisProblem &problem) {
  Annotations notes{problem.graph.given[problem.axis], {}};
  notes.offered.resize(problem.graph.values.size());
  AxisSweep sweep(problem, notes);
  sweep.run();
  if (annotateGroups(problem, sweep, notes))
    sweep.run();
  for (int round = 0; round < kMaxCarried && annotateCarried(problem, sweep, notes); ++round)
    sweep.run();
  // annotateSliced weighs the cost itself, so its annotations are kept even if they send slightly more bytes.
  if (annotateSliced(problem, sweep, notes))
    sweep.run();
  improve(problem, sweep, notes, annotateStored);
  improve(problem, sweep, notes, offerGathered);
  improve(problem, sweep, notes, offerRegrouped);
  improve(problem, sweep, notes, annotateReduced, countBytes);
  return std::move(sweep.plan);
}
