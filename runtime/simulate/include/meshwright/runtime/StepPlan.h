//===- StepPlan.h - how long a step should take -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_STEPPLAN_H
#define MESHWRIGHT_RUNTIME_STEPPLAN_H

#include "meshwright/runtime/MachineModel.h"
#include "meshwright/runtime/StepSpan.h"

namespace meshwright::runtime {

/// The time of a step by measured work and an assumed link.
struct StepPlan {
  double seconds = 0;
  /// The maxima over the ranks: computation, collectives under way, copies in the busier direction, and
  /// computation standing still for collectives and copies.
  double computeSeconds = 0, communicationSeconds = 0, copySeconds = 0, exposedSeconds = 0;
  std::vector<StepSpan> spans;
};

/// Plans the step at a position of an accumulation of a session's distributed programs from a profile of it, on the
/// links of the session's options. `cores` is how many pieces of work go on at a time.
Result<StepPlan> planStep(const Session &session, uint32_t position, const StepProfile &profile, size_t cores);
/// The same on a machine, whose model says what instructions and collectives take. `hosts` has that of every rank.
Result<StepPlan> planStep(const Session &session, uint32_t position, const MachineModel &machine,
                          std::span<const uint32_t> hosts, size_t cores);

} // namespace meshwright::runtime

#endif
