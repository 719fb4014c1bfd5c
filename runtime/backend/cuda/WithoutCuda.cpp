//===- WithoutCuda.cpp - a runtime that was built without CUDA ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Platform.h"

using namespace meshwright::runtime;

static Status getError() {
  return usageError("this dist-run was built without CUDA; the headers of CUDA and NCCL were not there");
}

Result<std::unique_ptr<Platform>> meshwright::runtime::createCudaPlatform(const LoadedPackage &, World &, int64_t,
                                                                          const CudaOptions &) {
  return getError();
}

Result<int64_t> meshwright::runtime::countGpus() { return getError(); }

bool meshwright::runtime::hasCuda() { return false; }
