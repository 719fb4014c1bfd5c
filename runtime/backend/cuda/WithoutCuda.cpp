//===- WithoutCuda.cpp - a runtime that was built without CUDA ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Platform.h"

using namespace meshwright::runtime;

Result<std::unique_ptr<Platform>> meshwright::runtime::createCudaPlatform(const LoadedPackage &, World &, int64_t,
                                                                          const CudaOptions &) {
  return usageError("this dist-run was built without CUDA; the headers of CUDA and NCCL were not there");
}

bool meshwright::runtime::hasCuda() { return false; }
