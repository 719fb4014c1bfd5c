//===- Metrics.h - numbers of each step -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_METRICS_H
#define MESHWRIGHT_TOOLS_DISTRUN_METRICS_H

#include "meshwright/runtime/CheckpointWriter.h"
#include "meshwright/runtime/StepPlan.h"

namespace meshwright::tool {

/// What one step showed, as far as the package says what is what.
struct StepMetrics {
  uint64_t step = 0;
  double seconds = 0;
  /// Whether the step is the last one of a merge, where the package merges steps. What only such a step knows the
  /// others leave out.
  std::optional<bool> update;
  std::optional<double> loss, gradNorm, learningRate, lossScale, foundInf, skippedSteps;
  /// The scalar results.
  std::vector<std::pair<std::string, double>> outputs;
  /// Of the rank with the most: the arena with scratch memory, and the arena of the host.
  uint64_t peakBytes = 0, hostBytes = 0;
  runtime::AllocationCount allocations;
  double modelFlops = 0;
  int64_t tokens = 0;
  /// What was planned for a step, where a link is modelled.
  const runtime::StepPlan *plan = nullptr;

  /// One JSON object on one line.
  std::string toJson() const;
};

/// Reads the scalars of the last step from the ranks, on the first process. What `writer` copies counts into the peak,
/// if there is one.
runtime::Result<StepMetrics> readMetrics(const runtime::Session &session, const runtime::CheckpointWriter *writer,
                                         uint64_t step, double seconds);

} // namespace meshwright::tool

#endif
