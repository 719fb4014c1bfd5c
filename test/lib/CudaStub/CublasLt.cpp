//===- CublasLt.cpp - products by three loops -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refuses what cuBLASLt refuses: leading dimensions below the rows, addresses less aligned than was promised, types
// that it does not have together, auxiliary matrices that are not on its grain.
//
//===----------------------------------------------------------------------===//

#include "devices/cuda/abi/CublasLt.h"
#include "Stub.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

using namespace meshwright::runtime::cuda;
using namespace meshwright::stub;

#define MW_STUB(name) MW_STUB_EXPORT cublasStatus_t name

// A definition with another signature does not compile.
#define MW_DECLARE(name, ...) MW_STUB_EXPORT std::type_identity_t<__VA_ARGS__> name;
MW_CUBLASLT_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE

namespace {

struct Operation {
  cublasComputeType_t compute;
  cublasOperation_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const char *bias = nullptr;
  char *aux = nullptr;
  int64_t auxLeading = 0, auxStride = 0;
  Live live = {};

  /// Epilogues are sets of bits.
  bool has(cublasLtEpilogue_t part) const { return (epilogue & part) == part; }
  bool hasAux() const { return has(CUBLASLT_EPILOGUE_GELU_AUX); }
};

struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading, stride = 0;
  int32_t batch = 1;
  cublasLtBatchMode_t mode = CUBLASLT_BATCH_MODE_STRIDED;
  Live live = {};

  int64_t getBytes() const { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
  /// Where matrix `number` of the batch is; `base` is the array of their addresses if there is one.
  char *getMatrix(const void *base, int32_t number) const {
    if (mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY)
      return static_cast<char *const *>(base)[number];
    return static_cast<char *>(const_cast<void *>(base)) + number * stride * getBytes();
  }
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t a = 256, b = 256, c = 256, d = 256;
  Live live = {};
};

/// The contents of an algorithm of the stub: the alignments that were promised.
struct Algorithm {
  uint32_t a, b, d;
};

float loadBFloat16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// To nearest, ties to even; no NaN comes here.
uint16_t storeBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double load(cudaDataType type, const char *base, int64_t index) {
  switch (type) {
  case CUDA_R_64F:
    return reinterpret_cast<const double *>(base)[index];
  case CUDA_R_16F:
    return static_cast<double>(reinterpret_cast<const _Float16 *>(base)[index]);
  case CUDA_R_16BF:
    return loadBFloat16(reinterpret_cast<const uint16_t *>(base)[index]);
  default:
    return reinterpret_cast<const float *>(base)[index];
  }
}

void store(cudaDataType type, char *base, int64_t index, double value) {
  switch (type) {
  case CUDA_R_64F:
    reinterpret_cast<double *>(base)[index] = value;
    return;
  case CUDA_R_16F:
    reinterpret_cast<_Float16 *>(base)[index] = static_cast<_Float16>(static_cast<float>(value));
    return;
  case CUDA_R_16BF:
    reinterpret_cast<uint16_t *>(base)[index] = storeBFloat16(static_cast<float>(value));
    return;
  default:
    reinterpret_cast<float *>(base)[index] = static_cast<float>(value);
  }
}

/// A product as it was when it was asked for.
struct Product {
  Operation operation;
  Layout a, b, d;
  const void *aBase, *bBase;
  void *dBase;

  /// Stores element (i, j) of a matrix after the epilogue.
  template <typename T> void finish(T sum, int32_t batch, uint64_t i, uint64_t j) const {
    if (operation.has(CUBLASLT_EPILOGUE_BIAS))
      sum += static_cast<T>(load(d.type, operation.bias, i));
    if (operation.hasAux())
      store(d.type, operation.aux, batch * operation.auxStride + i + j * operation.auxLeading, sum);
    if (operation.has(CUBLASLT_EPILOGUE_GELU))
      sum = sum / 2 * (1 + std::tanh(static_cast<T>(std::sqrt(2 / M_PI)) * (sum + T(0.044715) * sum * sum * sum)));
    store(d.type, d.getMatrix(dBase, batch), i + j * d.leading, sum);
  }

  /// T is the type of the sums.
  template <typename T> void run() const {
    bool transposeA = operation.transposeA == CUBLAS_OP_T, transposeB = operation.transposeB == CUBLAS_OP_T;
    uint64_t depth = transposeA ? a.rows : a.columns;
    for (int32_t batch = 0; batch != d.batch; ++batch) {
      const char *left = a.getMatrix(aBase, batch), *right = b.getMatrix(bBase, batch);
      for (uint64_t j = 0; j != d.columns; ++j)
        for (uint64_t i = 0; i != d.rows; ++i) {
          T sum = 0;
          for (uint64_t k = 0; k != depth; ++k)
            sum += static_cast<T>(load(a.type, left, transposeA ? k + i * a.leading : i + k * a.leading)) *
                   static_cast<T>(load(b.type, right, transposeB ? j + k * b.leading : k + j * b.leading));
          finish(sum, batch, i, j);
        }
    }
  }
};

bool isKnown(const Operation &operation, const Layout &a, const Layout &b, const Layout &d) {
  bool isDouble = operation.compute == CUBLAS_COMPUTE_64F;
  if (a.type != b.type || isDouble != (a.type == CUDA_R_64F))
    return false;
  return d.type == a.type || (d.type == CUDA_R_32F && (a.type == CUDA_R_16F || a.type == CUDA_R_16BF));
}

bool isAligned(const void *address, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

bool isEpilogueKnown(const Operation &operation, const Layout &d) {
  if (operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT)
    return true;
  if (d.type == CUDA_R_64F || (operation.has(CUBLASLT_EPILOGUE_BIAS) && !operation.bias))
    return false;
  return !operation.hasAux() || (operation.aux && isAligned(operation.aux, 16) && operation.auxLeading % 8 == 0 &&
                                 operation.auxStride % 8 == 0 && operation.auxLeading >= static_cast<int64_t>(d.rows));
}

bool isPossible(const Operation &operation, const Layout &a, const Layout &b, const Layout &d) {
  uint64_t m = operation.transposeA == CUBLAS_OP_T ? a.columns : a.rows;
  uint64_t k = operation.transposeA == CUBLAS_OP_T ? a.rows : a.columns;
  uint64_t k2 = operation.transposeB == CUBLAS_OP_T ? b.columns : b.rows;
  uint64_t n = operation.transposeB == CUBLAS_OP_T ? b.rows : b.columns;
  for (const Layout *layout : {&a, &b, &d})
    if (layout->leading < static_cast<int64_t>(layout->rows) || layout->rows == 0 || layout->columns == 0 ||
        layout->batch != d.batch || layout->mode != d.mode)
      return false;
  return m == d.rows && n == d.columns && k == k2 && isKnown(operation, a, b, d) && isEpilogueKnown(operation, d);
}

} // namespace

MW_STUB_EXPORT size_t cublasLtGetVersion() { return 130000; }
MW_STUB_EXPORT const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_EXECUTION_FAILED";
}

MW_STUB(cublasLtCreate)(cublasLtHandle_t *handle) {
  Call call("cublasLtCreate");
  if (call.fails())
    return CUBLAS_STATUS_EXECUTION_FAILED;
  *handle = reinterpret_cast<cublasLtHandle_t>(new Live);
  return CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtDestroy)(cublasLtHandle_t handle) {
  Call call("cublasLtDestroy");
  delete reinterpret_cast<Live *>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

MW_STUB(cublasLtMatmulDescCreate)(cublasLtMatmulDesc_t *operation, cublasComputeType_t compute, cudaDataType) {
  Call call("cublasLtMatmulDescCreate");
  if (call.fails())
    return CUBLAS_STATUS_EXECUTION_FAILED;
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute});
  return CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtMatmulDescSetAttribute)(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute,
                                        const void *value, size_t size) {
  Call call("cublasLtMatmulDescSetAttribute");
  auto &operation = *reinterpret_cast<Operation *>(handle);
  struct Place {
    void *address;
    size_t bytes;
  };
  auto of = [](auto &member) { return Place{&member, sizeof(member)}; };
  const std::map<int, Place> places = {{CUBLASLT_MATMUL_DESC_TRANSA, of(operation.transposeA)},
                                       {CUBLASLT_MATMUL_DESC_TRANSB, of(operation.transposeB)},
                                       {CUBLASLT_MATMUL_DESC_EPILOGUE, of(operation.epilogue)},
                                       {CUBLASLT_MATMUL_DESC_BIAS_POINTER, of(operation.bias)},
                                       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, of(operation.aux)},
                                       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, of(operation.auxLeading)},
                                       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, of(operation.auxStride)}};
  auto place = places.find(attribute);
  if (call.fails() || place == places.end() || place->second.bytes != size)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(place->second.address, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtMatmulDescDestroy)(cublasLtMatmulDesc_t operation) {
  Call call("cublasLtMatmulDescDestroy");
  delete reinterpret_cast<Operation *>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

MW_STUB(cublasLtMatrixLayoutCreate)(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                    int64_t leading) {
  Call call("cublasLtMatrixLayoutCreate");
  if (call.fails())
    return CUBLAS_STATUS_EXECUTION_FAILED;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtMatrixLayoutSetAttribute)(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t attribute,
                                          const void *value, size_t size) {
  Call call("cublasLtMatrixLayoutSetAttribute");
  auto *layout = reinterpret_cast<Layout *>(handle);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof(layout->batch))
    std::memcpy(&layout->batch, value, size);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof(layout->stride))
    std::memcpy(&layout->stride, value, size);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_MODE && size == sizeof(layout->mode))
    std::memcpy(&layout->mode, value, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return call.fails() ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtMatrixLayoutDestroy)(cublasLtMatrixLayout_t layout) {
  Call call("cublasLtMatrixLayoutDestroy");
  delete reinterpret_cast<Layout *>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

MW_STUB(cublasLtMatmulPreferenceCreate)(cublasLtMatmulPreference_t *preference) {
  Call call("cublasLtMatmulPreferenceCreate");
  if (call.fails())
    return CUBLAS_STATUS_EXECUTION_FAILED;
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtMatmulPreferenceSetAttribute)(cublasLtMatmulPreference_t handle,
                                              cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                              size_t size) {
  Call call("cublasLtMatmulPreferenceSetAttribute");
  auto &preference = *reinterpret_cast<Preference *>(handle);
  const std::map<int, void *> places = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &preference.workspace},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &preference.a},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &preference.b},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &preference.c},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &preference.d}};
  auto place = places.find(attribute);
  if (call.fails() || place == places.end())
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(place->second, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
MW_STUB(cublasLtMatmulPreferenceDestroy)(cublasLtMatmulPreference_t preference) {
  Call call("cublasLtMatmulPreferenceDestroy");
  delete reinterpret_cast<Preference *>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

MW_STUB(cublasLtMatmulAlgoGetHeuristic)(cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                        cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                        cublasLtMatmulPreference_t handle, int, cublasLtMatmulHeuristicResult_t *result,
                                        int *found) {
  Call call("cublasLtMatmulAlgoGetHeuristic");
  auto &preference = *reinterpret_cast<Preference *>(handle);
  *found = 0;
  if (call.fails())
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!isPossible(*reinterpret_cast<Operation *>(operation), *reinterpret_cast<Layout *>(a),
                  *reinterpret_cast<Layout *>(b), *reinterpret_cast<Layout *>(d)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{preference.a, preference.b, preference.d};
  static_assert(sizeof(algorithm) <= sizeof(result->algo));
  std::memcpy(&result->algo, &algorithm, sizeof(algorithm));
  result->workspaceSize = 4096;
  result->state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

MW_STUB(cublasLtMatmul)(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void *, const void *a,
                        cublasLtMatrixLayout_t aLayout, const void *b, cublasLtMatrixLayout_t bLayout, const void *,
                        const void *, cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t dLayout,
                        const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes, CUstream stream) {
  Call call("cublasLtMatmul");
  Stream &queue = getStream(stream);
  call.note("stream", queue.id).note("a", a).note("b", b).note("d", d);
  Product product{*reinterpret_cast<Operation *>(operation),
                  *reinterpret_cast<Layout *>(aLayout),
                  *reinterpret_cast<Layout *>(bLayout),
                  *reinterpret_cast<Layout *>(dLayout),
                  a,
                  b,
                  d};
  if (product.operation.bias)
    call.note("bias", product.operation.bias);
  if (product.operation.aux)
    call.note("aux", product.operation.aux);
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof(algorithm));
  if (call.fails())
    return CUBLAS_STATUS_EXECUTION_FAILED;
  bool isByAddress = product.d.mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY;
  bool areAligned =
      isByAddress || (isAligned(a, algorithm.a) && isAligned(b, algorithm.b) && isAligned(d, algorithm.d));
  if (!isPossible(product.operation, product.a, product.b, product.d) || !areAligned || !workspace ||
      workspaceBytes < 4096)
    return CUBLAS_STATUS_INVALID_VALUE;
  queue.push([product, algorithm, isByAddress] {
    // Arrays of addresses may be written until it is the product's turn.
    for (int32_t i = 0; isByAddress && i != product.d.batch; ++i)
      if (!isAligned(product.a.getMatrix(product.aBase, i), algorithm.a) ||
          !isAligned(product.b.getMatrix(product.bBase, i), algorithm.b) ||
          !isAligned(product.d.getMatrix(product.dBase, i), algorithm.d)) {
        std::fprintf(stderr, "cublasLtMatmul: matrix %d is less aligned than was promised\n", i);
        std::abort();
      }
    product.a.type == CUDA_R_64F ? product.run<double>() : product.run<float>();
  });
  return CUBLAS_STATUS_SUCCESS;
}
