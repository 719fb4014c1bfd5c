//===- Advice.h - what another split would not pay --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_ADVICE_H
#define MESHWRIGHT_LIB_COMPLETE_ADVICE_H

#include "Graph.h"

namespace meshwright::complete {

/// Warns, once per axis and kind, where a plan pays for something that another strategy would not: values whose split
/// an operation cannot follow, and products with a split parameter that leave far more to reduce than they read. Each
/// warning stands at the first such operation and says what a step pays for all of them. `axis` is an index into
/// `plans`.
void warnAboutCosts(const Graph &graph, const dist::Mesh &mesh, llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> plans,
                    size_t axis);

} // namespace meshwright::complete

#endif
