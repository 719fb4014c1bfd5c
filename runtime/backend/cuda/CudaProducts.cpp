//===- CudaProducts.cpp - the products of a program on a GPU --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaProducts.h"
#include <algorithm>
#include <bit>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

/// What an algorithm may have; on GPUs since 2022 the fast ones want it.
static constexpr uint64_t maxWorkspaceBytes = uint64_t(32) << 20;
/// Algorithms ask for no more.
static constexpr uint64_t maxAlignment = 256;

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

struct CudaProducts::Algorithm {
  explicit Algorithm(const CublasLtApi &lt) : lt(lt) {}
  ~Algorithm() {
    if (operation)
      (void)lt.cublasLtMatmulDescDestroy(operation);
    for (cublasLtMatrixLayout_t layout : {a, b, d})
      if (layout)
        (void)lt.cublasLtMatrixLayoutDestroy(layout);
  }

  const void *getOne() const { return isDouble ? static_cast<const void *>(&doubleOne) : &floatOne; }
  const void *getZero() const { return isDouble ? static_cast<const void *>(&doubleZero) : &floatZero; }

  const CublasLtApi &lt;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  uint64_t workspaceBytes = 0;
  bool isDouble = false;
  double doubleOne = 1, doubleZero = 0;
  float floatOne = 1, floatZero = 0;
};

CudaProducts::CudaProducts(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32)
    : cuda(cuda), lt(lt), allowTf32(allowTf32) {}

CudaProducts::~CudaProducts() {
  if (workspace)
    (void)cuda.cuMemFree(workspace);
  algorithms.clear();
  if (handle)
    (void)lt.cublasLtDestroy(handle);
}

Result<std::unique_ptr<CudaProducts>> CudaProducts::create(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32) {
  std::unique_ptr<CudaProducts> products(new CudaProducts(cuda, lt, allowTf32));
  MW_CALL(lt, cublasLtCreate, &products->handle);
  return products;
}

Result<uint32_t> CudaProducts::prepare(const Matmul &matmul, const std::byte *lhs, const std::byte *rhs,
                                       std::byte *out) {
  MatmulProblem problem = getProblem(matmul);
  MW_TRY_ASSIGN(ProductPlan plan, planProduct(problem));
  auto operandSize = static_cast<int64_t>(getSize(problem.lhsType)),
       outSize = static_cast<int64_t>(getSize(problem.outType));
  Product product;
  for (const LtOffsets &offsets : plan.calls) {
    const std::byte *left = lhs + offsets.lhs * operandSize, *right = rhs + offsets.rhs * operandSize;
    product.calls.push_back(
        {plan.isSwapped ? right : left, plan.isSwapped ? left : right, out + offsets.out * outSize});
  }
  if (!product.calls.empty()) {
    MW_TRY_ASSIGN(product.algorithm, getAlgorithm(plan.shape, getAlignments(product.calls)));
  }
  products.push_back(std::move(product));
  return static_cast<uint32_t>(products.size() - 1);
}

CudaProducts::Alignments CudaProducts::getAlignments(const std::vector<Product::Addresses> &calls) {
  // The lowest bit that is set in any of the addresses.
  uintptr_t a = maxAlignment, b = maxAlignment, d = maxAlignment;
  for (const Product::Addresses &call : calls) {
    a |= reinterpret_cast<uintptr_t>(call.a);
    b |= reinterpret_cast<uintptr_t>(call.b);
    d |= reinterpret_cast<uintptr_t>(call.d);
  }
  auto getLowest = [](uintptr_t bits) { return uint32_t(1) << std::countr_zero(bits); };
  return {getLowest(a), getLowest(b), getLowest(d)};
}

Result<const CudaProducts::Algorithm *> CudaProducts::getAlgorithm(const LtShape &shape, const Alignments &alignments) {
  auto [entry, isNew] = algorithms.try_emplace({shape, alignments});
  if (isNew) {
    entry->second = std::make_unique<Algorithm>(lt);
    MW_TRY(describe(shape, *entry->second));
    MW_TRY(choose(alignments, *entry->second));
    workspaceBytes = std::max(workspaceBytes, entry->second->workspaceBytes);
  }
  return entry->second.get();
}

Status CudaProducts::describe(const LtShape &shape, Algorithm &algorithm) const {
  algorithm.isDouble = shape.aType == F64;
  cublasComputeType_t compute = algorithm.isDouble                ? CUBLAS_COMPUTE_64F
                                : allowTf32 && shape.aType == F32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                  : CUBLAS_COMPUTE_32F;
  MW_CALL(lt, cublasLtMatmulDescCreate, &algorithm.operation, compute, algorithm.isDouble ? CUDA_R_64F : CUDA_R_32F);
  for (auto [attribute, isTransposed] : {std::pair(CUBLASLT_MATMUL_DESC_TRANSA, shape.a.isTransposed),
                                         std::pair(CUBLASLT_MATMUL_DESC_TRANSB, shape.b.isTransposed)}) {
    cublasOperation_t operation = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    MW_CALL(lt, cublasLtMatmulDescSetAttribute, algorithm.operation, attribute, &operation, sizeof(operation));
  }
  auto describeMatrix = [&](cublasLtMatrixLayout_t &layout, DType type, const StridedMatrix &matrix, int64_t rows,
                            int64_t columns) -> Status {
    if (matrix.isTransposed)
      std::swap(rows, columns);
    MW_CALL(lt, cublasLtMatrixLayoutCreate, &layout, getType(type), static_cast<uint64_t>(rows),
            static_cast<uint64_t>(columns), matrix.leading);
    auto count = static_cast<int32_t>(shape.batch);
    MW_CALL(lt, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    MW_CALL(lt, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batch,
            sizeof(matrix.batch));
    return {};
  };
  MW_TRY(describeMatrix(algorithm.a, shape.aType, shape.a, shape.m, shape.k));
  MW_TRY(describeMatrix(algorithm.b, shape.bType, shape.b, shape.k, shape.n));
  return describeMatrix(algorithm.d, shape.dType, shape.d, shape.m, shape.n);
}

Status CudaProducts::choose(const Alignments &alignments, Algorithm &algorithm) const {
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
  MW_CALL(lt, cublasLtMatmulAlgoGetHeuristic, handle, algorithm.operation, algorithm.a, algorithm.b, algorithm.d,
          algorithm.d, preference, 1, &best, &found);
  if (found == 0)
    return faultError("cublasLtMatmulAlgoGetHeuristic knows no algorithm");
  MW_TRY(lt.check(best.state, "cublasLtMatmulAlgoGetHeuristic"));
  algorithm.algorithm = best.algo;
  algorithm.workspaceBytes = best.workspaceSize;
  return {};
}

Status CudaProducts::finish() {
  if (workspaceBytes != 0)
    MW_CALL(cuda, cuMemAlloc, &workspace, workspaceBytes);
  return {};
}

Status CudaProducts::execute(uint32_t number, CUstream stream) {
  const Product &product = products[number];
  for (const Product::Addresses &call : product.calls) {
    const Algorithm &algorithm = *product.algorithm;
    MW_CALL(lt, cublasLtMatmul, handle, algorithm.operation, algorithm.getOne(), call.a, algorithm.a, call.b,
            algorithm.b, algorithm.getZero(), call.d, algorithm.d, call.d, algorithm.d, &algorithm.algorithm,
            reinterpret_cast<void *>(workspace), workspaceBytes, stream);
  }
  return {};
}
