//===- Report.h - a run as one page -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_REPORT_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_REPORT_H

#include "../Metrics.h"
#include "../Options.h"
#include "../Plans.h"
#include "LineChart.h"

namespace meshwright::tool {

/// Collects the numbers of a run and writes them as a file of HTML that needs nothing else: curves, memory,
/// conversions, the planned steps, and how the run was called. The same run gives the same page but for what was
/// measured.
class Report {
public:
  explicit Report(const Options &options) : options(options) {}

  /// Adds the numbers of a step.
  void add(const StepMetrics &metrics);

  /// Writes the page and gives the file its name. `end` is how the run ended; `session` is null where there is
  /// none yet, `writer` where no checkpoints are written.
  runtime::Status write(runtime::OutputFile &file, const runtime::LoadedPackage &package,
                        const runtime::Session *session, const runtime::CheckpointWriter *writer,
                        const std::vector<PlannedVariant> &plans, const runtime::Status &end) const;

private:
  void addPoint(std::string_view key, std::string_view title, uint64_t step, std::optional<double> value);
  std::string getSummary(const runtime::Status &end) const;
  std::string getCurves() const;
  std::string getData() const;
  std::string getRun(const runtime::LoadedPackage &package, const runtime::Session *session) const;

  const Options &options;
  /// In the order of their first point.
  std::vector<Curve> curves;
  std::vector<double> seconds;
  std::optional<StepMetrics> last;
};

} // namespace meshwright::tool

#endif
