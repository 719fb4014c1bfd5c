//===- StepPlan.h - how long a step should take -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_STEPPLAN_H
#define MESHWRIGHT_RUNTIME_STEPPLAN_H

#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// A piece of a planned step: computation, a collective from when all members have come to it, a copy from the host or
/// to it, or how long a rank's computation stands still for a collective or copy.
struct PlannedSpan {
  enum Kind { Compute, Collective, Wait, Fetch, WriteBack } kind;
  int64_t rank;
  const Instruction *instruction;
  const Task *task; ///< of which the instruction is one
  uint32_t microBatch;
  double begin, end; ///< seconds from the step's beginning
  double bytes = 0;  ///< of a collective: what a rank sends; of a copy: its bytes
  int64_t peer = -1; ///< of a send: the rank at its other end
};

/// What a step takes by the work that was measured and the link that is assumed.
struct StepPlan {
  double seconds = 0;
  /// Of the rank with the most of it each: computation, collectives under way, copies in the busier direction, and
  /// computation standing still for collectives and copies.
  double computeSeconds = 0, communicationSeconds = 0, copySeconds = 0, exposedSeconds = 0;
  std::vector<PlannedSpan> spans;
};

/// Plans the step at a position of a merge of a session's distributed programs from a profile of it, on the links of
/// the session's options. `cores` is how many pieces of work go on at a time.
Result<StepPlan> planStep(const Session &session, uint32_t position, const StepProfile &profile, size_t cores);

/// The cores that this process may use.
size_t getNumCores();

} // namespace meshwright::runtime

#endif
