//===- KernelModule.h - a kernel as a module of LLVM ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_KERNELMODULE_H
#define MESHWRIGHT_CODEGEN_KERNELMODULE_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Codegen/KernelLowering.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright::emit {

/// Lowers `kernel` to a module of the llvm dialect with one function `void symbol(ptr)` that takes the array of the
/// buffers' addresses, inputs first. Emits an error and returns null where an operation cannot be lowered.
///
/// Kernels of the forms that `schedule::KernelPlan` knows become one nest of vectorized loops; the others (scatters,
/// say) go through bufferization, one loop nest per operation. The former have a division, too (Division.h), if their
/// arguments have so many bytes.
mlir::OwningOpRef<mlir::ModuleOp> buildKernelModule(dist::KernelOp kernel, llvm::StringRef symbol,
                                                    int64_t leastDividedBytes);

/// The same for a check: numbers of 64 bits stand for floats, and an element of w bytes has a place of `scale` · w.
mlir::OwningOpRef<mlir::ModuleOp> buildCheckKernelModule(dist::KernelOp kernel, llvm::StringRef symbol, Numbers numbers,
                                                         int64_t scale);

/// Loads the dialects that lowering makes operations of; none can be loaded while kernels are compiled side by side.
void loadKernelDialects(mlir::MLIRContext &context);

} // namespace meshwright::emit

#endif
