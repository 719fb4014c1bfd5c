//===- Timeline.h - the planned step as a picture ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_TIMELINE_H
#define MESHWRIGHT_TOOLS_DISTRUN_TIMELINE_H

#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/StepPlan.h"

namespace meshwright::tool {

/// Writes a planned step in the JSON that Perfetto and chrome://tracing read: per rank a track of computation and one
/// of communication. `measured` is the median of the steps that were run, in seconds. The file is not committed.
runtime::Result<runtime::OutputFile> writeTimeline(const std::string &path, const runtime::StepPlan &plan,
                                                   int64_t numRanks, double measured);

} // namespace meshwright::tool

#endif
