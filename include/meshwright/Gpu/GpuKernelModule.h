//===- GpuKernelModule.h - lowers a kernel to functions of a GPU -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_GPU_GPUKERNELMODULE_H
#define MESHWRIGHT_GPU_GPUKERNELMODULE_H

#include "meshwright/Codegen/KernelCompiler.h"
#include "meshwright/Gpu/GpuMachine.h"
#include "meshwright/Gpu/GpuPlan.h"

namespace meshwright::emit {

/// A function and how it is launched.
struct LaunchedFunction {
  std::string function;
  GpuLaunchPlan::Mapping mapping;
  int64_t blocks, threads, sharedBytes;
  /// Bytes of the kernel's scratch memory; if there is any, all its functions take its address.
  int64_t scratchBytes;
  /// How many elements a thread computes side by side.
  unsigned lanes;
};

/// Lowers the kernel of `job` to a module of the llvm dialect with the functions `symbol`_0, `symbol`_1 … and appends
/// how they are launched, one after the other. Emits an error and returns null where an operation cannot be lowered.
mlir::OwningOpRef<mlir::ModuleOp> buildGpuKernelModule(const KernelJob &job, const GpuMachine &machine,
                                                       llvm::SmallVectorImpl<LaunchedFunction> &launches);

} // namespace meshwright::emit

#endif
