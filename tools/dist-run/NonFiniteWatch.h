//===- NonFiniteWatch.h - steps whose numbers are not finite ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every step: the loss and the norm of the gradients, which are read anyway, so a step without a finding costs nothing
// more on one process, and one byte from the first to the others on several. At the first such step of a row, before a
// checkpoint, in checked steps and at the end: all variables, in one pass over memory.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_NONFINITEWATCH_H
#define MESHWRIGHT_TOOLS_DISTRUN_NONFINITEWATCH_H

#include "Metrics.h"
#include "Options.h"
#include "Progress.h"
#include "meshwright/runtime/NonFinite.h"
#include <set>

namespace meshwright::tool {

/// Decides what a run does about values that are not finite, in the same way on all its processes, which call the same
/// functions in the same order.
class NonFiniteWatch {
public:
  /// So many steps in a row, whose loss or gradients are not finite, end a run that --on-nonfinite says nothing of.
  static constexpr uint64_t kLimit = 10;

  /// `writer` writes the run's checkpoints; null where there are none.
  NonFiniteWatch(runtime::Session &session, runtime::CheckpointWriter *writer, const Options &options,
                 Progress &progress)
      : session(session), writer(writer), options(options), progress(progress) {}

  /// Before the first step. Variables that are not finite now are meant to be so (the best loss so far, a mask), but
  /// for those that the checkpoint `resumed` lists, if there is one. Errors: of --on-nonfinite=skip where the package
  /// skips no update; of stop and skip where the checkpoint is not finite.
  runtime::Status begin(const runtime::CheckpointIndex *resumed);
  /// Completes the metrics of a step by what is not finite.
  runtime::Status inspect(StepMetrics &metrics);
  /// After the metrics are written: an error where the run is to end with this step.
  runtime::Status judge(const std::string &step);
  /// The variables that are not finite now; an error where the run is to end with that. `when` begins messages.
  runtime::Result<std::vector<std::string>> inspectState(const std::string &when);

private:
  /// Values that are not finite and are not meant to be so.
  runtime::Result<std::vector<runtime::NonFiniteValue>> find() const;
  bool noteScalars(StepMetrics &metrics) const;
  bool skips() const { return options.onNonFinite == "skip"; }
  bool stops() const { return options.onNonFinite == "stop"; }
  void warn(const std::string &text);
  /// The same error on all processes, with the last checkpoint to go on from.
  runtime::Status end(const std::string &text);

  runtime::Session &session;
  runtime::CheckpointWriter *writer;
  const Options &options;
  Progress &progress;
  std::set<std::string> meant;
  /// Steps in a row up to the last one.
  uint64_t row = 0;
  bool hasWarned = false;
  /// The finding of the last inspected step in words; `isStateLost` if variables are among the values that are not
  /// finite.
  std::string finding;
  bool isStateLost = false;
};

} // namespace meshwright::tool

#endif
