//===- Targets.h - targets of code generation -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_TARGETS_H
#define MESHWRIGHT_CODEGEN_TARGETS_H

#include "mlir/IR/DialectRegistry.h"

namespace meshwright::emit {

/// True if `target` is a GPU. There, kernels also compute what CPU targets leave to a library, except GEMMs.
bool isGpuTarget(llvm::StringRef target);
/// True if `target` is a GPU whose tensor cores can compute kernels of scores: sm_80 or later, or the emulated one.
bool computesScores(llvm::StringRef target);

/// Registers the dialects and interfaces that code generation needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace meshwright::emit

#endif
