//===- Plans.h - what the steps of a run should take ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_PLANS_H
#define MESHWRIGHT_TOOLS_DISTRUN_PLANS_H

#include "Progress.h"
#include "meshwright/runtime/StepPlan.h"

namespace meshwright::tool {

/// The plan of a variant of the step, and the seconds of the steps of that variant that were run.
struct PlannedVariant {
  runtime::StepVariant variant;
  runtime::StepPlan plan;
  std::vector<double> measured;

  /// The median of the steps; nothing if none was run.
  std::optional<double> getMeasured() const;
};

/// Measures what each variant of a session's step costs without links, and plans it with those of its options.
/// Variables change.
runtime::Result<std::vector<PlannedVariant>> planVariants(runtime::Session &session);

/// Plans each variant on a machine, with a device for every rank or the cores of their hosts. All processes call it.
runtime::Result<std::vector<PlannedVariant>> planVariants(const runtime::Session &session,
                                                          const runtime::MachineModel &machine);

/// The plans beside what was measured, a line for each.
void logPlans(const std::vector<PlannedVariant> &plans, Progress &progress);

/// A task of a step on a rank, with what it waits for in between.
struct PlannedTask {
  int64_t rank;
  const Task *task;
  uint32_t microBatch;
  double begin, end;
};

/// The tasks of a step but the transfers, in the order of their beginnings on every rank. A rank is in one at a time.
std::vector<PlannedTask> listTasks(std::span<const runtime::StepSpan> spans);
/// True if the step has several actions for a micro-batch, as in a pipeline.
bool hasActions(std::span<const runtime::StepSpan> spans);

/// As in messages: `step 3 of an accumulation of 4`, `steps 1 to 2 of an accumulation of 4`.
std::string describe(const runtime::StepVariant &variant, uint32_t accumulationSteps);

} // namespace meshwright::tool

#endif
