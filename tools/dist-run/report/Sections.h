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

/// Where ranks do several works for a micro-batch: in which order, how long they wait and how much they have begun. The
/// times are those of the plans; without plans a task takes as long as it has operations and bytes to go through.
/// Nothing for other packages.
std::string drawSchedules(const runtime::Session &session, bool serial, const std::vector<PlannedVariant> &plans);

/// A row of a table; every cell but the first `texts` is a number. Cells are escaped.
std::string makeRow(const std::vector<std::string> &cells, size_t texts, bool isHead = false);

} // namespace meshwright::tool

#endif
