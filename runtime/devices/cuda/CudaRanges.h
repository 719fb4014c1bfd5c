//===- CudaRanges.h - ranges that profilers show ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDARANGES_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDARANGES_H

namespace meshwright::runtime::cuda {

/// Whether a profiler follows the ranges of NVTX (abi/Nvtx.h). Profilers name their library by NVTX_INJECTION64_PATH;
/// without it nothing is opened and nothing happens.
bool isProfilerThere();
/// Opens a range of the calling thread, in those that are open, and closes the innermost one.
void pushRange(const char *name);
void popRange();

} // namespace meshwright::runtime::cuda

#endif
