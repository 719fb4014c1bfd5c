//===- VerifyTimes.h - checks the reads of one slice of a batch --*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PARTITION_VERIFYTIMES_H
#define MESHWRIGHT_LIB_PARTITION_VERIFYTIMES_H

#include "dialects/Dist/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::partition {

/// Checks that no slice of a batch reads a value that is known only after the last one, and that values that differ
/// between slices leave the step only through an accumulator. Succeeds on a mesh without slices.
mlir::LogicalResult verifyTimes(mlir::func::FuncOp func, const dist::Mesh &mesh);

} // namespace meshwright::partition

#endif
