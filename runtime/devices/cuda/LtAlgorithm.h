//===- LtAlgorithm.h - how products of one shape are computed ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_LTALGORITHM_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_LTALGORITHM_H

#include "CublasLtApi.h"
#include "ProductPlan.h"
#include <memory>

namespace meshwright::runtime::cuda {

/// The matrices that a call multiplies into d, or the arrays of their addresses if its shape says so; bias and aux are
/// null where its epilogue has none.
struct LtAddresses {
  const std::byte *a, *b;
  std::byte *d;
  const std::byte *bias = nullptr;
  std::byte *aux = nullptr;
};

/// The known alignments of the addresses of all calls of a product: powers of two.
struct LtAlignments {
  uint32_t a, b, d, bias, aux;
  auto operator<=>(const LtAlignments &) const = default;
};

/// An operation as cuBLASLt describes it. The addresses of an epilogue are part of it.
using LtOperation = std::unique_ptr<cublasLtMatmulDescOpaque_t, decltype(CublasLtApi::cublasLtMatmulDescDestroy)>;

/// A shape as cuBLASLt describes it, and the algorithm that its heuristic has chosen for it.
class LtAlgorithm {
public:
  LtAlgorithm(const CublasLtApi &lt, const LtShape &shape, bool allowTf32)
      : lt(lt), shape(shape), allowTf32(allowTf32), isDouble(shape.aType == F64) {}
  LtAlgorithm(const LtAlgorithm &) = delete;
  LtAlgorithm &operator=(const LtAlgorithm &) = delete;
  ~LtAlgorithm();

  /// Chooses for calls like `example`; false where the library has no algorithm for the shape and its epilogue.
  Result<bool> choose(cublasLtHandle_t handle, const LtAlignments &alignments, const LtAddresses &example);
  /// The operation of a call.
  Result<LtOperation> describe(const LtAddresses &addresses) const;
  Status execute(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const LtAddresses &addresses,
                 CUdeviceptr workspace, uint64_t bytes, CUstream stream) const;

  const LtShape &getShape() const { return shape; }
  /// The workspace of a chosen algorithm.
  uint64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  Result<bool> describeMatrices();
  Status describeEpilogue(cublasLtMatmulDesc_t operation, const LtAddresses &addresses) const;

  const CublasLtApi &lt;
  LtShape shape;
  bool allowTf32, isDouble;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  uint64_t workspaceBytes = 0;
};

} // namespace meshwright::runtime::cuda

#endif
