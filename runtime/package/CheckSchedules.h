//===- CheckSchedules.h - whether every step of an accumulation is one --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_CHECKSCHEDULES_H
#define MESHWRIGHT_RUNTIME_PACKAGE_CHECKSCHEDULES_H

#include "meshwright/runtime/Package.h"

namespace meshwright::runtime {

/// Checks the schedules of all programs: every step of an accumulation runs each action for each of its micro-batches
/// once, in their order. Returns the variants of the step. Nothing of the programs has been checked.
Result<std::vector<StepVariant>> checkSchedules(const meshwright::Package &package);

} // namespace meshwright::runtime

#endif
