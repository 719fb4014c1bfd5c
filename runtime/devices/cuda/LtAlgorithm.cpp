//===- LtAlgorithm.cpp - how products of one shape are computed -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LtAlgorithm.h"
#include "CudaApi.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

/// The workspace that an algorithm may use; on GPUs since 2022 the fast ones want it.
static constexpr uint64_t maxWorkspaceBytes = uint64_t(32) << 20;

static cudaDataType getType(DType type) {
  switch (type) {
  case F64:
    return CUDA_R_64F;
  case BF16:
    return CUDA_R_16BF;
  case F16:
    return CUDA_R_16F;
  default:
    return CUDA_R_32F;
  }
}

static cublasLtEpilogue_t getEpilogue(const LtEpilogue &epilogue) {
  if (!epilogue.hasGelu)
    return epilogue.hasBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (epilogue.hasAux)
    return epilogue.hasBias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return epilogue.hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

LtAlgorithm::~LtAlgorithm() {
  for (cublasLtMatrixLayout_t layout : {a, b, d})
    if (layout)
      (void)lt.cublasLtMatrixLayoutDestroy(layout);
}

/// False if the library does not take the addresses of matrices.
Result<bool> LtAlgorithm::describeMatrices() {
  auto describeMatrix = [&](cublasLtMatrixLayout_t &layout, DType type, const StridedMatrix &matrix, int64_t rows,
                            int64_t columns) -> Result<bool> {
    if (matrix.isTransposed)
      std::swap(rows, columns);
    MW_CALL(lt, cublasLtMatrixLayoutCreate, &layout, getType(type), static_cast<uint64_t>(rows),
            static_cast<uint64_t>(columns), matrix.leading);
    auto count = static_cast<int32_t>(shape.batch);
    MW_CALL(lt, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    if (shape.isByAddress) {
      uint32_t mode = CUBLASLT_BATCH_MODE_POINTER_ARRAY;
      return lt.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, sizeof(mode)) ==
             CUBLAS_STATUS_SUCCESS;
    }
    MW_CALL(lt, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batch,
            sizeof(matrix.batch));
    return true;
  };
  MW_TRY_ASSIGN(bool areKnown, describeMatrix(a, shape.aType, shape.a, shape.m, shape.k));
  if (areKnown) {
    MW_TRY_ASSIGN(areKnown, describeMatrix(b, shape.bType, shape.b, shape.k, shape.n));
  }
  return areKnown ? describeMatrix(d, shape.dType, shape.d, shape.m, shape.n) : Result<bool>(false);
}

Result<LtOperation> LtAlgorithm::describe(const LtAddresses &addresses) const {
  cublasComputeType_t compute = isDouble                          ? CUBLAS_COMPUTE_64F
                                : allowTf32 && shape.aType == F32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                  : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t created = nullptr;
  MW_CALL(lt, cublasLtMatmulDescCreate, &created, compute, isDouble ? CUDA_R_64F : CUDA_R_32F);
  LtOperation operation(created, lt.cublasLtMatmulDescDestroy);
  for (auto [attribute, isTransposed] : {std::pair(CUBLASLT_MATMUL_DESC_TRANSA, shape.a.isTransposed),
                                         std::pair(CUBLASLT_MATMUL_DESC_TRANSB, shape.b.isTransposed)}) {
    cublasOperation_t transpose = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    MW_CALL(lt, cublasLtMatmulDescSetAttribute, operation.get(), attribute, &transpose, sizeof(transpose));
  }
  MW_TRY(describeEpilogue(operation.get(), addresses));
  return operation;
}

/// Bias and auxiliary matrix have the type of d where nothing else is said.
Status LtAlgorithm::describeEpilogue(cublasLtMatmulDesc_t operation, const LtAddresses &addresses) const {
  cublasLtEpilogue_t epilogue = getEpilogue(shape.epilogue);
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT)
    return {};
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) -> Status {
    MW_CALL(lt, cublasLtMatmulDescSetAttribute, operation, attribute, &value, sizeof(value));
    return {};
  };
  MW_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (shape.epilogue.hasBias)
    MW_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, addresses.bias));
  if (!shape.epilogue.hasAux)
    return {};
  MW_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, addresses.aux));
  MW_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape.d.leading));
  return set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, shape.d.batch);
}

Result<bool> LtAlgorithm::choose(cublasLtHandle_t handle, const LtAlignments &alignments, const LtAddresses &example) {
  MW_TRY_ASSIGN(bool areKnown, describeMatrices());
  if (!areKnown)
    return false;
  MW_TRY_ASSIGN(LtOperation operation, describe(example));
  cublasLtMatmulPreference_t preference = nullptr;
  MW_CALL(lt, cublasLtMatmulPreferenceCreate, &preference);
  std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(lt.cublasLtMatmulPreferenceDestroy)> owner(
      preference, lt.cublasLtMatmulPreferenceDestroy);
  MW_CALL(lt, cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
          &maxWorkspaceBytes, sizeof(maxWorkspaceBytes));
  for (auto [attribute, alignment] : {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.a),
                                      std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.b),
                                      std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.d),
                                      std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.d)})
    MW_CALL(lt, cublasLtMatmulPreferenceSetAttribute, preference, attribute, &alignment, sizeof(alignment));
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  cublasStatus_t status =
      lt.cublasLtMatmulAlgoGetHeuristic(handle, operation.get(), a, b, d, d, preference, 1, &best, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0))
    return false;
  MW_TRY(lt.check(status, "cublasLtMatmulAlgoGetHeuristic"));
  MW_TRY(lt.check(best.state, "cublasLtMatmulAlgoGetHeuristic"));
  algorithm = best.algo;
  workspaceBytes = best.workspaceSize;
  return true;
}

Status LtAlgorithm::execute(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const LtAddresses &addresses,
                            CUdeviceptr workspace, uint64_t bytes, CUstream stream) const {
  static constexpr double doubleOne = 1, doubleZero = 0;
  static constexpr float floatOne = 1, floatZero = 0;
  const void *one = isDouble ? static_cast<const void *>(&doubleOne) : &floatOne;
  const void *zero = isDouble ? static_cast<const void *>(&doubleZero) : &floatZero;
  MW_CALL(lt, cublasLtMatmul, handle, operation, one, addresses.a, a, addresses.b, b, zero, addresses.d, d, addresses.d,
          d, &algorithm, reinterpret_cast<void *>(workspace), bytes, stream);
  return {};
}
