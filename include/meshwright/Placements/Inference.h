//===- Inference.h - placements inferred from local programs ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLACEMENTS_INFERENCE_H
#define MESHWRIGHT_PLACEMENTS_INFERENCE_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright::placements {

/// Infers the placement of every value of a partitioned module from what its operations compute, and compares it with
/// the placements that conversions, assignments to variables and results state. A value that is known to be a partial
/// sum, and is used as if it were whole, is an error at the use; so is a statement that contradicts what is inferred.
/// What is not known is no error. Takes time linear in the operations.
llvm::LogicalResult verifyPlacements(mlir::ModuleOp module);

} // namespace meshwright::placements

#endif
