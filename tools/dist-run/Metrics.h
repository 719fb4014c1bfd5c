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

/// The metrics of one step, as far as the package names them.
struct StepMetrics {
  uint64_t step = 0;
  /// True if the step is the last one of its gradient accumulation; nothing if the package accumulates no gradients.
  /// Metrics that only such a step computes are empty at the others.
  std::optional<bool> update;
  std::optional<double> loss, gradNorm, learningRate, lossScale, foundInf, skippedSteps;
  /// The scalar results.
  std::vector<std::pair<std::string, double>> outputs;
  /// A value that is not finite: the loss or the norm, and at the first such step in a row also gradients and variables
  /// with the ranks whose parts are not finite.
  struct NonFinite {
    std::string name, value;
    std::vector<int64_t> ranks;
  };
  std::vector<NonFinite> nonFinite;
  /// The gradients and variables among them, in words.
  std::string nonFiniteText;
  /// Bytes of the rank that uses the most: the arena with scratch memory, and the arena of the host.
  uint64_t peakBytes = 0, hostBytes = 0;
  runtime::StepCosts costs;
  double modelFlops = 0;
  int64_t tokens = 0;
  /// Its position in its accumulation, and what was planned for such a step, where a link is modelled.
  uint32_t position = 0;
  const runtime::StepPlan *plan = nullptr;

  /// True if the update of the step was skipped.
  bool isSkipped() const { return foundInf && *foundInf > 0; }
  /// As in the line of the step: `loss, "p.w" (NaN on rank 1)`; empty where all is finite.
  std::string describeNonFinite() const;
  /// As in messages: a NaN has no sign.
  static std::string format(double value);
  /// One JSON object on one line.
  std::string toJson() const;
};

/// Lets every step of a session from now on keep what metrics say of it.
runtime::Status prepareMetrics(runtime::Session &session);

/// Those of the oldest step that was run and not read, which is waited for, on the first process. What `writer` copies
/// counts into the peak, if there is one.
runtime::Result<StepMetrics> readMetrics(runtime::Session &session, const runtime::CheckpointWriter *writer,
                                         uint64_t step);

} // namespace meshwright::tool

#endif
