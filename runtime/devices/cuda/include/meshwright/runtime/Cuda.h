//===- Cuda.h - ranks that compute on GPUs of NVIDIA ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CUDA_H
#define MESHWRIGHT_RUNTIME_CUDA_H

#include "meshwright/runtime/Platform.h"

namespace meshwright::runtime {

/// GPUs of NVIDIA, through the driver, cuBLASLt and, between GPUs, NCCL: they are opened when asked for. The ranks of a
/// machine take its GPUs in their order (`nccl`), or share the first one, with memory and streams of their own, and
/// reach each other there without NCCL (`onegpu`). Errors say what is missing.
extern const DeviceKind cudaKind;

} // namespace meshwright::runtime

#endif
