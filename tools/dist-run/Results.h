//===- Results.h - the files that a run leaves ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_RESULTS_H
#define MESHWRIGHT_TOOLS_DISTRUN_RESULTS_H

#include "Options.h"
#include "Timeline.h"

namespace meshwright::tool {

/// Writes what the options ask for of the session after its last step: outputs, variables, the timeline of the plans,
/// the traced steps and their profile.
/// Everything is written before anything gets its name. `progress` says what is left out in the middle of an
/// accumulation.
runtime::Status writeResults(const Options &options, runtime::Session &session,
                             const std::vector<PlannedVariant> &plans, const std::vector<TracedStep> &traced,
                             Progress &progress);

} // namespace meshwright::tool

#endif
