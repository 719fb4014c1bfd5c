//===- TwinExpansion.h - floats as floats of 64 bits ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_TWINEXPANSION_H
#define MESHWRIGHT_LIB_CODEGEN_TWINEXPANSION_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright::emit {

/// Lets the module's functions, which are scalar code, compute with f64 instead of any float, in elements of `scale`
/// times their bytes. Every result that the program would round goes through the runtime (TwinFunctions.h).
mlir::LogicalResult expandTwin(mlir::ModuleOp module, int64_t scale);

} // namespace meshwright::emit

#endif
