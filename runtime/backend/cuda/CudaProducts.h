//===- CudaProducts.h - the products of a program on a GPU ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_CUDA_CUDAPRODUCTS_H
#define MESHWRIGHT_RUNTIME_BACKEND_CUDA_CUDAPRODUCTS_H

#include "CublasLtApi.h"
#include "CudaApi.h"
#include "ProductPlan.h"
#include <map>

namespace meshwright::runtime::cuda {

/// The products of one rank's program, prepared for fixed addresses. An algorithm is chosen once for all products of
/// one shape and alignment, by the library's heuristic. The products run on one stream and share their workspace.
///
/// Everything is called in the device's context.
class CudaProducts {
public:
  /// `allowTf32` lets products of f32 round their operands to 10 bits of fraction.
  static Result<std::unique_ptr<CudaProducts>> create(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32);
  ~CudaProducts();

  /// Prepares a checked product; returns its number.
  Result<uint32_t> prepare(const Matmul &matmul, const std::byte *lhs, const std::byte *rhs, std::byte *out);
  /// Allocates the workspace. Nothing is prepared afterwards.
  Status finish();
  Status execute(uint32_t number, CUstream stream);
  uint64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  /// What is known of the addresses of a, b and d: powers of two.
  struct Alignments {
    uint32_t a, b, d;
    auto operator<=>(const Alignments &) const = default;
  };
  struct Algorithm;
  struct Product {
    const Algorithm *algorithm = nullptr;
    /// Of a, b and d, one for each call.
    struct Addresses {
      const std::byte *a, *b;
      std::byte *d;
    };
    std::vector<Addresses> calls;
  };

  CudaProducts(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32);
  static Alignments getAlignments(const std::vector<Product::Addresses> &calls);
  Result<const Algorithm *> getAlgorithm(const LtShape &shape, const Alignments &alignments);
  Status describe(const LtShape &shape, Algorithm &algorithm) const;
  Status choose(const Alignments &alignments, Algorithm &algorithm) const;

  const CudaApi &cuda;
  const CublasLtApi &lt;
  bool allowTf32;
  cublasLtHandle_t handle = nullptr;
  std::map<std::pair<LtShape, Alignments>, std::unique_ptr<Algorithm>> algorithms;
  std::vector<Product> products;
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
};

} // namespace meshwright::runtime::cuda

#endif
