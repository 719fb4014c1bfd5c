//===- Passes.h - the whole compiler as a pass ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_PASSES_H
#define MESHWRIGHT_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace meshwright {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Pipeline/Passes.h.inc"

} // namespace meshwright

#endif
