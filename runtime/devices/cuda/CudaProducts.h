//===- CudaProducts.h - the products of a program on a GPU ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAPRODUCTS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDAPRODUCTS_H

#include "CublasLtApi.h"
#include "CudaApi.h"
#include "LtAlgorithm.h"
#include "Staging.h"
#include "meshwright/runtime/Device.h"
#include <map>

namespace meshwright::runtime::cuda {

/// The products of one rank's program, prepared for fixed addresses, with their epilogues where the library has them.
/// An algorithm is chosen once for all products of one shape, epilogue and alignment, by the library's heuristic. The
/// products run on one stream and share their workspace.
///
/// A product of several batch dimensions that one stride does not describe is one call too, if the library takes the
/// addresses of its matrices.
///
/// Everything is called in the device's context.
class CudaProducts {
public:
  /// `allowTf32` lets products of f32 round their operands to 10 bits of fraction.
  static Result<std::unique_ptr<CudaProducts>> create(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32);
  ~CudaProducts();

  /// Prepares a checked product; returns its number.
  Result<uint32_t> prepare(const Matmul &matmul, const MatmulAddresses &addresses);
  /// Whether a product is computed with its epilogue.
  bool hasEpilogue(uint32_t number) const { return products[number].hasEpilogue; }
  /// How many products have an epilogue that the library has no algorithm for.
  size_t countWithoutEpilogue() const { return numWithoutEpilogue; }
  /// Allocates the workspace, and brings addresses of matrices to the device through `staging` on `stream`, on which
  /// products are executed later. Nothing is prepared afterwards.
  Status finish(Staging &staging, CUstream stream);
  Status execute(uint32_t number, CUstream stream);
  /// The workspace, and the addresses of matrices.
  uint64_t getScratchBytes() const { return workspaceBytes + table.size() * sizeof(table.front()); }

private:
  /// The algorithm chosen for a shape; none where the library knows no algorithm.
  struct Choice {
    LtAlgorithm algorithm;
    LtOperation operation; // of calls without an epilogue
    bool isKnown = false;
  };
  struct Call {
    LtAddresses addresses;
    LtOperation operation; // where it has an epilogue
  };
  struct Product {
    const Choice *choice = nullptr;
    std::vector<Call> calls;
    bool hasEpilogue = false;
    /// Where the addresses of the matrices of its one call begin in the table: those of a, then those of b and d.
    std::optional<size_t> addresses;
  };

  CudaProducts(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32);
  static LtAlignments getAlignments(const std::vector<Call> &calls);
  static std::vector<Call> placeCalls(const ProductPlan &plan, const MatmulAddresses &addresses);
  Status prepareCalls(const ProductPlan &plan, const MatmulAddresses &addresses, Product &product);
  Status prepareJoined(const ProductPlan &plan, const MatmulAddresses &addresses, Product &product);
  Result<const Choice *> choose(const LtShape &shape, const std::vector<Call> &calls);

  const CudaApi &cuda;
  const CublasLtApi &lt;
  bool allowTf32;
  cublasLtHandle_t handle = nullptr;
  std::map<std::pair<LtShape, LtAlignments>, std::unique_ptr<Choice>> choices;
  std::vector<Product> products;
  size_t numWithoutEpilogue = 0;
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
  /// The addresses of matrices, and where they are on the device.
  std::vector<const std::byte *> table;
  DeviceMemory tableMemory;
};

} // namespace meshwright::runtime::cuda

#endif
