//===- Profile.h - the time of steps as a table -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_PROFILE_H
#define MESHWRIGHT_TOOLS_DISTRUN_PROFILE_H

#include "Timeline.h"
#include "meshwright/runtime/WorkProfile.h"

namespace meshwright::tool {

/// Measures the best rates of the ranks' devices, which all processes do together, and writes a table of where the
/// traced steps spend their time: text, or JSON if the path ends so. On the first process there is a file to commit.
runtime::Result<std::optional<runtime::OutputFile>> writeProfile(const std::string &path, runtime::Session &session,
                                                                 const std::vector<TracedStep> &traced);

/// The table as text: rows of less than a thousandth of a step are summed up in the last one.
std::string toText(const runtime::WorkProfile &profile, const runtime::DeviceRates &best);
/// All rows, as JSON.
std::string toJson(const runtime::WorkProfile &profile, const runtime::DeviceRates &best);

} // namespace meshwright::tool

#endif
