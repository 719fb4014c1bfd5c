//===- CudaRanges.h - ranges that profilers show ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_CUDA_CUDARANGES_H
#define MESHWRIGHT_RUNTIME_BACKEND_CUDA_CUDARANGES_H

namespace meshwright::runtime::cuda {

/// Whether a profiler listens to the ranges of NVTX. NVTX itself is a header with a table of functions, which the
/// library named by NVTX_INJECTION64_PATH fills; profilers name one. Without it nothing is opened and nothing happens.
bool isProfilerThere();
/// Opens a range of the calling thread, in those that are open, and closes the innermost one.
void pushRange(const char *name);
void popRange();

} // namespace meshwright::runtime::cuda

#endif
