//===- Timeline.h - the planned step as a picture ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_TIMELINE_H
#define MESHWRIGHT_TOOLS_DISTRUN_TIMELINE_H

#include "Plans.h"
#include "meshwright/runtime/Files.h"

namespace meshwright::tool {

/// Writes the planned steps in the JSON that Perfetto and chrome://tracing read: per rank a track of computation and
/// one of communication. Several variants of the step stand one after the other. The file is not committed.
runtime::Result<runtime::OutputFile> writeTimeline(const std::string &path, const std::vector<PlannedVariant> &plans,
                                                   int64_t numRanks);

} // namespace meshwright::tool

#endif
