//===- Passes.h - computing by tiles ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the stage Schedule.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TILING_PASSES_H
#define MESHWRIGHT_TILING_PASSES_H

#include "mlir/Pass/Pass.h"

namespace meshwright::schedule {

#define GEN_PASS_DECL
#include "meshwright/Tiling/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Tiling/Passes.h.inc"

} // namespace meshwright::schedule

#endif
