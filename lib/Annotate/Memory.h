//===- Memory.h - host or device memory of variables ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_MEMORY_H
#define MESHWRIGHT_LIB_ANNOTATE_MEMORY_H

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright::annotate {

/// Gives variables that `offload` of the strategy names the memory of the host. A glob without a match is an error.
mlir::LogicalResult annotateMemory(mlir::ModuleOp module, const strategy::StrategyFile &file);

} // namespace meshwright::annotate

#endif
