//===- Advice.h - warnings about avoidable communication --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_ADVICE_H
#define MESHWRIGHT_LIB_COMPLETE_ADVICE_H

#include "Graph.h"

namespace meshwright::complete {

/// Warns, once per axis and kind, about communication that another strategy would avoid: values whose split an
/// operation cannot follow, and products with a split parameter whose partial sum is much larger than their input. Each
/// warning is located at the first such operation and states the total per step. `axis` is an index into `plans`.
void warnAboutCosts(const Graph &graph, const dist::Mesh &mesh, llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> plans,
                    size_t axis);

} // namespace meshwright::complete

#endif
