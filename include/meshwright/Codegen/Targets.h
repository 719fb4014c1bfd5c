//===- Targets.h - targets of code generation -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_TARGETS_H
#define MESHWRIGHT_CODEGEN_TARGETS_H

#include "mlir/IR/DialectRegistry.h"

namespace meshwright::emit {

/// Registers the dialects and interfaces that code generation needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace meshwright::emit

#endif
