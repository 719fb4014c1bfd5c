//===- PlanSegments.h - the part of a plan about fetched parameters *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANSEGMENTS_H
#define MESHWRIGHT_LIB_PIPELINE_PLANSEGMENTS_H

#include "Plan.h"

namespace meshwright {

/// Notes the segments and fetches of parameters; after Complete. With `keepsFetches` slices after the first one find
/// all of them alive in every segment.
void addSegments(Plan &plan, mlir::ModuleOp module, bool keepsFetches);

void printSegments(llvm::json::OStream &json, const Plan &plan);
void printSegments(llvm::raw_ostream &out, const Plan &plan);

} // namespace meshwright

#endif
