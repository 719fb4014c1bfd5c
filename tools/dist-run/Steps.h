//===- Steps.h - the steps of a run -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_STEPS_H
#define MESHWRIGHT_TOOLS_DISTRUN_STEPS_H

#include "Preparation.h"
#include "Results.h"
#include "StepEvents.h"

namespace meshwright::tool {

/// Runs the steps of prepared `parts`, each with the events that the options ask for: checks, traces, checkpoints.
class Steps {
public:
  Steps(RunParts &parts, const Options &options, runtime::World &world, Progress &progress, StepLog &log)
      : parts(parts), options(options), world(world), progress(progress), log(log) {}

  runtime::Status run(uint64_t step);
  /// Evaluates if it is time for it after `done` steps.
  runtime::Status evaluate(uint64_t done);
  /// Saves the state after `done` steps, and with it which of it is not finite.
  runtime::Status save(uint64_t done);
  /// The steps that were traced so far.
  const std::vector<TracedStep> &getTraced() const { return traced; }

private:
  bool isStateWanted(const StepEvents &events, uint64_t step) const;
  runtime::Status trace(uint64_t step);
  runtime::Status check(const std::string &name);
  runtime::Status checkReplicas();
  runtime::Status judge(const std::string &name, const runtime::CheckReport &report);

  RunParts &parts;
  const Options &options;
  runtime::World &world;
  Progress &progress;
  StepLog &log;
  std::vector<TracedStep> traced;
};

} // namespace meshwright::tool

#endif
