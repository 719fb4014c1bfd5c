//===- Preparation.h - all that a run needs before its first step -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_PREPARATION_H
#define MESHWRIGHT_TOOLS_DISTRUN_PREPARATION_H

#include "Evaluation.h"
#include "Instruments.h"
#include "NonFiniteWatch.h"
#include "StartPoint.h"
#include "StepLog.h"
#include "meshwright/runtime/CheckpointWriter.h"
#include "meshwright/runtime/SerialCheck.h"

namespace meshwright::tool {

/// The parts of a run. Those that the options do not ask for are absent.
struct RunParts {
  StartPoint start;
  std::unique_ptr<runtime::Session> session;
  /// Ends before the session of which it writes.
  std::unique_ptr<runtime::CheckpointWriter> writer;
  std::optional<NonFiniteWatch> watch;
  std::unique_ptr<runtime::SerialCheck> check;
  std::unique_ptr<Evaluation> evaluation;
  std::optional<runtime::Feeder> feeder;

  /// True if the run has a step to do: it starts before the last.
  bool hasStepsToRun(const Options &options) const { return options.steps != start.step; }
};

/// Fills `parts` in the order in which processes have to meet: the session, what it starts from, the files that it
/// reads and writes, and what checks it. Says what the model is and where values come from. With --calibrate the
/// machine is measured, too, and no step is to be run.
runtime::Status prepare(const runtime::LoadedPackage &package, const Options &options, Instruments &instruments,
                        Progress &progress, StepLog &log, RunParts &parts);

} // namespace meshwright::tool

#endif
