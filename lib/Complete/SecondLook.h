//===- SecondLook.h - second look at the plan of an axis --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function annotates what only a whole plan shows, and returns true if it did, so that another sweep is needed.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_SECONDLOOK_H
#define MESHWRIGHT_LIB_COMPLETE_SECONDLOOK_H

#include "AxisSweep.h"

namespace meshwright::complete {

/// A carried value that starts replicated, such as zeros, and is passed on split is split from the start, for free.
bool annotateCarried(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes);

/// Annotates replicated values that some uses slice in the same way, if the other uses would pay little.
/// Skips values derived from constants and scalars alone: every use takes its part for free, and
/// unrelated uses that share one, such as the updates of biases of one length, must not affect each other.
bool annotateSliced(const AxisProblem &problem, AxisSweep &sweep, Annotations &notes);

/// Annotates values that lead to an assignment through elementwise operations with the variable's storage placement, at
/// the narrowest place: at the gradient, rather than at each moment and parameter computed from it.
bool annotateStored(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes);

/// If the results of two elementwise uses of a value are converted right after, the value may as well be gathered once:
/// offers it replicated.
bool offerGathered(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes);

/// If a use reads a split value split along another dimension, offers the value split otherwise along its own
/// dimension, as that use could read it, too: the thirds of a fused projection that is split as a whole. Later
/// operations may go on with that split.
bool offerRegrouped(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes);

/// If partial values are reduced for an elementwise operation alone that needs all of them, annotates them split: it is
/// computed in parts, and only its result is gathered.
bool annotateReduced(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes);

/// Annotates the values of a group with the state of the first of them that is given one or is split.
bool annotateGroups(const AxisProblem &problem, const AxisSweep &sweep, Annotations &notes);

/// The cost of the plan's conversions, and the bytes that they send: conversions of weights and of the batch cost more.
double countCost(const AxisProblem &problem, const AxisPlan &plan);
double countBytes(const AxisProblem &problem, const AxisPlan &plan);

} // namespace meshwright::complete

#endif
