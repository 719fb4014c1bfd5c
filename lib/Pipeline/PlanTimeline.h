//===- PlanTimeline.h - the part of a plan about starts and waits --*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANTIMELINE_H
#define MESHWRIGHT_LIB_PIPELINE_PLANTIMELINE_H

#include "meshwright/Schedule/Report.h"
#include "llvm/Support/JSON.h"

namespace meshwright {

/// The number of issued collectives.
int64_t countLaunches(llvm::ArrayRef<schedule::Event> timeline);
/// Every start and wait: where, which launch, what it moves.
void printTimeline(llvm::json::OStream &json, llvm::ArrayRef<schedule::Event> timeline);
/// The same as a table.
void printTimeline(llvm::raw_ostream &out, llvm::ArrayRef<schedule::Event> timeline);

} // namespace meshwright

#endif
