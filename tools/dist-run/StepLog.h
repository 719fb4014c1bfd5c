//===- StepLog.h - what a run says of its steps -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_STEPLOG_H
#define MESHWRIGHT_TOOLS_DISTRUN_STEPLOG_H

#include "Evaluation.h"
#include "NonFiniteWatch.h"
#include "Plans.h"
#include "report/Report.h"

namespace meshwright::tool {

/// Says what steps and evaluations did: on the terminal, in the file of metrics and for the page of --report. Steps are
/// reported in their order.
class StepLog {
public:
  StepLog(const Options &options, Progress &progress) : progress(progress), report(options) {}

  /// Writes metrics to that file from now on.
  runtime::Status openMetrics(const std::string &path);
  /// Reports the steps that the session has run but the last `unread` ones. An error where the run is to end with one.
  runtime::Status addSteps(runtime::Session &session, const runtime::CheckpointWriter *writer, NonFiniteWatch &watch,
                           size_t unread);
  /// Reports an evaluation after so many steps.
  runtime::Status addEvaluation(uint64_t done, const EvaluationMetrics &metrics);
  /// Gives the file of metrics its name.
  runtime::Status commit();

  void setFirstStep(uint64_t step) { next = step; }
  /// One plan per variant of the step; none where steps are not planned.
  void setPlans(std::vector<PlannedVariant> variants) { plans = std::move(variants); }
  const std::vector<PlannedVariant> &getPlans() const { return plans; }
  const Report &getReport() const { return report; }
  bool hasSteps() const { return numSteps != 0; }
  /// The duration of all steps together.
  double getSeconds() const { return seconds; }

private:
  runtime::Status addStep(runtime::Session &session, const runtime::CheckpointWriter *writer, NonFiniteWatch &watch,
                          uint64_t step);
  runtime::Status write(const std::string &line);

  Progress &progress;
  Report report;
  std::optional<runtime::OutputFile> file;
  std::vector<PlannedVariant> plans;
  /// The first step that is not reported, and how many are.
  uint64_t next = 0, numSteps = 0;
  double seconds = 0;
};

} // namespace meshwright::tool

#endif
