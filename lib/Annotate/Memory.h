//===- Memory.h - whose memory variables are kept in ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_MEMORY_H
#define MESHWRIGHT_LIB_ANNOTATE_MEMORY_H

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright::annotate {

/// Gives the variables that `offload` of the strategy names to the host. A glob that matches no variable is an error.
mlir::LogicalResult annotateMemory(mlir::ModuleOp module, const strategy::StrategyFile &file);

} // namespace meshwright::annotate

#endif
