//===- Passes.h - places in memory --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the stage Schedule.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_MEMORY_PASSES_H
#define MESHWRIGHT_MEMORY_PASSES_H

#include "meshwright/Support/Units.h"
#include "mlir/Pass/Pass.h"

namespace meshwright::schedule {

#define GEN_PASS_DECL
#include "meshwright/Memory/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Memory/Passes.h.inc"

} // namespace meshwright::schedule

#endif
