//===- AxisSolver.h - placements on one mesh axis ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_AXISSOLVER_H
#define MESHWRIGHT_LIB_COMPLETE_AXISSOLVER_H

#include "AxisProblem.h"

namespace meshwright::complete {

/// Decides on one axis which factor every operation splits and in which state every value is kept, in a number of
/// sweeps that does not depend on the size of the graph.
AxisPlan solveAxis(const AxisProblem &problem);

} // namespace meshwright::complete

#endif
