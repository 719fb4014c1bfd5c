//===- Sections.h - parts of the page ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_SECTIONS_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_SECTIONS_H

#include "../Plans.h"
#include "meshwright/runtime/CheckpointWriter.h"

namespace meshwright::tool {

/// A bar for every rank, ranks that are alike together, and the same numbers as a table. `serial` says that the session
/// runs the serial program; `writer` may be null.
std::string drawMemory(const runtime::Session &session, bool serial, const runtime::CheckpointWriter *writer);

/// The conversions of every program that runs, a table for each variant of its step.
std::string listConversions(const runtime::Session &session, bool serial);

/// The planned steps: computation and communication of the first ranks over time.
std::string drawTimelines(const runtime::Session &session, const std::vector<PlannedVariant> &plans);

/// Draws the pipeline's schedule: the order of the ranks' actions, how long ranks wait and how many micro-batches they
/// have begun. The times are those of the plans; without plans the operations and bytes of a task give its time. Empty
/// for packages with one action for a micro-batch.
std::string drawSchedules(const runtime::Session &session, bool serial, const std::vector<PlannedVariant> &plans);

/// A row of a table; every cell but the first `texts` is a number. Cells are escaped.
std::string makeRow(const std::vector<std::string> &cells, size_t texts, bool isHead = false);

} // namespace meshwright::tool

#endif
