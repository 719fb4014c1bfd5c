//===- PlanTotals.h - sums a step's conversions by kind ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANTOTALS_H
#define MESHWRIGHT_LIB_PIPELINE_PLANTOTALS_H

#include "Plan.h"

namespace meshwright {

/// The conversions of one kind.
struct ConversionTotal {
  int64_t count = 0;
  /// Bytes that a rank sends in a step, the mean over the ranks of the mesh and the steps of an accumulation, and the
  /// share of these in groups that span several nodes.
  double bytes = 0, bytesBetweenNodes = 0;
};

/// The totals by the name of the kind: `c_allreduce`.
std::map<std::string, ConversionTotal> getTotals(const Plan &plan);
/// The number of steps that gradients are accumulated over, where they are.
std::optional<int64_t> getAccumulatedSteps(const Plan &plan);

void printTotals(llvm::json::OStream &json, const Plan &plan);
void printTotals(llvm::raw_ostream &out, const Plan &plan);

} // namespace meshwright

#endif
