//===- Brief.h - programs as people read them -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_BRIEF_H
#define MESHWRIGHT_LIB_PIPELINE_BRIEF_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Leaves out all discardable attributes but names (`net.name`) and placements (`dist.mapping`). The module is for
/// reading from then on: later stages need the others.
void makeBrief(mlir::ModuleOp module);

} // namespace meshwright

#endif
