//===- Timeline.h - steps as a picture --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_TIMELINE_H
#define MESHWRIGHT_TOOLS_DISTRUN_TIMELINE_H

#include "Plans.h"
#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/StepTrace.h"

namespace meshwright::tool {

/// A step of the run as it went.
struct TracedStep {
  uint64_t step;
  runtime::StepTrace trace;
};

/// Writes planned steps and traced ones in the JSON that Perfetto and chrome://tracing read: per rank a track of
/// computation and one of communication. Several variants of the planned step stand one after the other, and so do
/// traced steps; ranks have tracks for either where there are both. The file is not committed.
runtime::Result<runtime::OutputFile> writeTimeline(const std::string &path, const std::vector<PlannedVariant> &plans,
                                                   const std::vector<TracedStep> &traced, int64_t numRanks);

} // namespace meshwright::tool

#endif
