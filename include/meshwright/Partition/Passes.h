//===- Passes.h - the passes of Partition -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that replace global shapes by local shapes, and differences of placement by explicit conversions.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_PASSES_H
#define MESHWRIGHT_PARTITION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshwright::partition {

#define GEN_PASS_DECL
#include "meshwright/Partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Partition/Passes.h.inc"

/// Adds the passes of Partition, in order.
void buildPipeline(mlir::OpPassManager &manager, const LocalizeShapesPassOptions &options = {});

} // namespace meshwright::partition

#endif
