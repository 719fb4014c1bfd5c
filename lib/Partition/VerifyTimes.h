//===- VerifyTimes.h - what one slice of a batch may read -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PARTITION_VERIFYTIMES_H
#define MESHWRIGHT_LIB_PARTITION_VERIFYTIMES_H

#include "dialects/Dist/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::partition {

/// Checks that no slice of a batch reads what is known after the last one, and that nothing which differs between
/// slices leaves the step otherwise than through an accumulator. Nothing is to be checked on a mesh without slices.
mlir::LogicalResult verifyTimes(mlir::func::FuncOp func, const dist::Mesh &mesh);

} // namespace meshwright::partition

#endif
