//===- StepEvents.h - what happens at which step ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_STEPEVENTS_H
#define MESHWRIGHT_TOOLS_DISTRUN_STEPEVENTS_H

#include "Options.h"

namespace meshwright::tool {

/// The events that the command line asks for at a step, besides running it.
struct StepEvents {
  bool isLast, isTraced, isChecked, areReplicasChecked, isSaved;

  /// True if the state after the step is read before the next one begins. With injected faults each step ends before
  /// the next one begins.
  bool wantState() const { return isLast || isTraced || isChecked || areReplicasChecked || isSaved; }
};

/// Those of step `step`, from 0 on, of the `options.steps` of the run.
inline StepEvents getEvents(const Options &options, uint64_t step) {
  uint64_t done = step + 1;
  StepEvents events;
  events.isLast = done == options.steps;
  events.isTraced = options.tracesSteps() && options.steps - step <= options.tracedSteps;
  events.isChecked = options.checkSerial && step % options.checkEvery == 0;
  events.areReplicasChecked = options.checkReplicas != 0 && done % options.checkReplicas == 0;
  events.isSaved =
      !options.checkpoint.empty() && (events.isLast || (options.saveEvery != 0 && done % options.saveEvery == 0));
  return events;
}

} // namespace meshwright::tool

#endif
