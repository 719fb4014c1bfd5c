//===- RankProgram.h - the program of one rank ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_RANKPROGRAM_H
#define MESHWRIGHT_LIB_PIPELINE_RANKPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// The rank that `text`, `dp=1,tp=0`, names in the module's mesh; axes not named are at coordinate 0.
mlir::FailureOr<int64_t> parseCoordinate(mlir::ModuleOp module, llvm::StringRef text);

/// Makes the partitioned program of all ranks that of one: its coordinates become constants.
mlir::LogicalResult specializeForRank(mlir::ModuleOp module, int64_t rank);

} // namespace meshwright

#endif
