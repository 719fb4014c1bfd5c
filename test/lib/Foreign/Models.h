//===- Models.h - interfaces of foreign operations --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_FOREIGN_MODELS_H
#define MESHWRIGHT_TEST_LIB_FOREIGN_MODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace foreign {

/// Attaches `dist::ShardingOpInterface` to all operations.
void registerSharding(mlir::DialectRegistry &registry);
/// Attaches `dist::KernelOpInterface` and `dist::CostOpInterface`.
void registerKernels(mlir::DialectRegistry &registry);

} // namespace foreign

#endif
