//===- CublasLtApi.h - the functions of cuBLASLt ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_CUDA_CUBLASLTAPI_H
#define MESHWRIGHT_RUNTIME_BACKEND_CUDA_CUBLASLTAPI_H

#include "DynamicLibrary.h"
#include <cublasLt.h>

#define MW_CUBLASLT_FUNCTIONS(X)                                                                                       \
  X(cublasLtGetVersion)                                                                                                \
  X(cublasLtGetStatusString)                                                                                           \
  X(cublasLtCreate)                                                                                                    \
  X(cublasLtDestroy)                                                                                                   \
  X(cublasLtMatmulDescCreate)                                                                                          \
  X(cublasLtMatmulDescSetAttribute)                                                                                    \
  X(cublasLtMatmulDescDestroy)                                                                                         \
  X(cublasLtMatrixLayoutCreate)                                                                                        \
  X(cublasLtMatrixLayoutSetAttribute)                                                                                  \
  X(cublasLtMatrixLayoutDestroy)                                                                                       \
  X(cublasLtMatmulPreferenceCreate)                                                                                    \
  X(cublasLtMatmulPreferenceSetAttribute)                                                                              \
  X(cublasLtMatmulPreferenceDestroy)                                                                                   \
  X(cublasLtMatmulAlgoGetHeuristic)                                                                                    \
  X(cublasLtMatmul)

namespace meshwright::runtime::cuda {

/// cuBLASLt: libcublasLt.so.13 or .12, or what MESHWRIGHT_CUBLASLT_LIBRARY names.
struct CublasLtApi {
  static Result<std::unique_ptr<CublasLtApi>> load();
  Status check(cublasStatus_t status, const char *function) const;

  DynamicLibrary library;
#define MW_DECLARE(name) decltype(&::name) name = nullptr;
  MW_CUBLASLT_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE
};

} // namespace meshwright::runtime::cuda

#endif
