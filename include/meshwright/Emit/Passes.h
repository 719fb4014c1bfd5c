//===- Passes.h - the passes of Emit ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EMIT_PASSES_H
#define MESHWRIGHT_EMIT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace meshwright::emit {

#define GEN_PASS_DECL
#include "meshwright/Emit/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Emit/Passes.h.inc"

} // namespace meshwright::emit

#endif
