//===- CublasLt.h - the binary interface of libcublasLt ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of cuBLASLt that the runtime calls. Names and values are those of "cuBLAS" 13.1, chapter "Using the cuBLASLt
// API" (cublasLt.h, cublas_api.h, library_types.h); cuBLAS 12 has the same ones. VendorHeadersTest compares this file
// with those headers on machines that have them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_CUBLASLT_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_CUBLASLT_H

#include "CudaDriver.h"

namespace meshwright::runtime::cuda {

// Descriptors are created and destroyed by the library.
using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t *;

/// library_types.h.
enum cudaDataType : unsigned { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };

/// cublas_api.h, as are the next two.
enum cublasStatus_t : unsigned {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

enum cublasOperation_t : unsigned { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

enum cublasComputeType_t : unsigned {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

enum cublasLtMatmulDescAttributes_t : unsigned {
  CUBLASLT_MATMUL_DESC_TRANSA = 3, ///< cublasOperation_t
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,     ///< cublasLtEpilogue_t
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8, ///< const void *
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,           ///< int64_t, in elements
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13, ///< int64_t, in elements
};

/// A set of bits.
enum cublasLtEpilogue_t : unsigned {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = CUBLASLT_EPILOGUE_GELU | CUBLASLT_EPILOGUE_BIAS,
  CUBLASLT_EPILOGUE_GELU_AUX = CUBLASLT_EPILOGUE_GELU | 128,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = CUBLASLT_EPILOGUE_GELU_AUX | CUBLASLT_EPILOGUE_BIAS,
};

enum cublasLtMatrixLayoutAttribute_t : unsigned {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,          ///< int32_t
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, ///< int64_t, in elements
  CUBLASLT_MATRIX_LAYOUT_BATCH_MODE = 8,           ///< cublasLtBatchMode_t; not in the first libraries of version 12
};

enum cublasLtBatchMode_t : unsigned { CUBLASLT_BATCH_MODE_STRIDED = 0, CUBLASLT_BATCH_MODE_POINTER_ARRAY = 1 };

enum cublasLtMatmulPreferenceAttributes_t : unsigned {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,   ///< uint64_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5, ///< uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

/// Opaque; callers keep and copy it.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

// Each is its own symbol: name and signature.
// clang-format off
#define MW_CUBLASLT_FUNCTIONS(X)                                                                                       \
  X(cublasLtGetVersion, size_t())                                                                                      \
  X(cublasLtGetStatusString, const char *(cublasStatus_t status))                                                      \
  X(cublasLtCreate, cublasStatus_t(cublasLtHandle_t *handle))                                                          \
  X(cublasLtDestroy, cublasStatus_t(cublasLtHandle_t handle))                                                          \
  X(cublasLtMatmulDescCreate,                                                                                          \
    cublasStatus_t(cublasLtMatmulDesc_t *operation, cublasComputeType_t compute, cudaDataType scale))                  \
  X(cublasLtMatmulDescSetAttribute,                                                                                    \
    cublasStatus_t(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const void *value,        \
                   size_t bytes))                                                                                      \
  X(cublasLtMatmulDescDestroy, cublasStatus_t(cublasLtMatmulDesc_t operation))                                         \
  X(cublasLtMatrixLayoutCreate,                                                                                        \
    cublasStatus_t(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns,                 \
                   int64_t leading))                                                                                   \
  X(cublasLtMatrixLayoutSetAttribute,                                                                                  \
    cublasStatus_t(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value,        \
                   size_t bytes))                                                                                      \
  X(cublasLtMatrixLayoutDestroy, cublasStatus_t(cublasLtMatrixLayout_t layout))                                        \
  X(cublasLtMatmulPreferenceCreate, cublasStatus_t(cublasLtMatmulPreference_t *preference))                            \
  X(cublasLtMatmulPreferenceSetAttribute,                                                                              \
    cublasStatus_t(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,              \
                   const void *value, size_t bytes))                                                                   \
  X(cublasLtMatmulPreferenceDestroy, cublasStatus_t(cublasLtMatmulPreference_t preference))                            \
  X(cublasLtMatmulAlgoGetHeuristic,                                                                                    \
    cublasStatus_t(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,                  \
                   cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                       \
                   cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t *results,        \
                   int *found))                                                                                        \
  X(cublasLtMatmul,                                                                                                    \
    cublasStatus_t(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha, const void *a,          \
                   cublasLtMatrixLayout_t aLayout, const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,    \
                   const void *c, cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,             \
                   const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes, CUstream stream))
// clang-format on

} // namespace meshwright::runtime::cuda

#endif
