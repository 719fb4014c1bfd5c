//===- PlanPrinter.h - prints the plan of a step ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANPRINTER_H
#define MESHWRIGHT_LIB_PIPELINE_PLANPRINTER_H

#include "Plan.h"

namespace meshwright {

void printJson(llvm::raw_ostream &out, const Plan &plan);
void printText(llvm::raw_ostream &out, const Plan &plan);

} // namespace meshwright

#endif
