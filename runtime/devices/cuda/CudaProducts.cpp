//===- CudaProducts.cpp - the products of a program on a GPU --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product is one call of cuBLASLt where it can be: with one stride between the matrices of a batch, or with a table
// of their addresses in the device's memory. Otherwise it is several calls, as with an epilogue, whose bias is the same
// for all.
//
//===----------------------------------------------------------------------===//

#include "CudaProducts.h"
#include <algorithm>
#include <bit>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

/// Algorithms ask for no more.
static constexpr uint64_t maxAlignment = 256;

CudaProducts::CudaProducts(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32)
    : cuda(cuda), lt(lt), allowTf32(allowTf32) {}

CudaProducts::~CudaProducts() {
  if (workspace)
    (void)cuda.cuMemFree(workspace);
  products.clear();
  choices.clear();
  if (handle)
    (void)lt.cublasLtDestroy(handle);
}

Result<std::unique_ptr<CudaProducts>> CudaProducts::create(const CudaApi &cuda, const CublasLtApi &lt, bool allowTf32) {
  std::unique_ptr<CudaProducts> products(new CudaProducts(cuda, lt, allowTf32));
  MW_CALL(lt, cublasLtCreate, &products->handle);
  return products;
}

Result<uint32_t> CudaProducts::prepare(const Matmul &matmul, const MatmulAddresses &addresses) {
  MatmulProblem problem = getProblem(matmul);
  MW_TRY_ASSIGN(ProductPlan plan, planProduct(problem));
  Product product;
  if (matmul.has_epilogue() && !plan.calls.empty()) {
    if (std::optional<LtEpilogue> epilogue = planEpilogue(matmul, plan.shape)) {
      plan.shape.epilogue = *epilogue;
      MW_TRY(prepareCalls(plan, addresses, product));
    }
    product.hasEpilogue = product.choice && product.choice->isKnown;
    numWithoutEpilogue += !product.hasEpilogue;
    plan.shape.epilogue = {};
  }
  if (!product.hasEpilogue && !plan.calls.empty()) {
    if (plan.calls.size() > 1)
      MW_TRY(prepareJoined(plan.join(), addresses, product));
    if (!product.addresses)
      MW_TRY(prepareCalls(plan, addresses, product));
    if (!product.choice->isKnown)
      return faultError("cublasLtMatmulAlgoGetHeuristic knows no algorithm");
  }
  products.push_back(std::move(product));
  return static_cast<uint32_t>(products.size() - 1);
}

/// With an epilogue the product itself is nowhere.
std::vector<CudaProducts::Call> CudaProducts::placeCalls(const ProductPlan &plan, const MatmulAddresses &addresses) {
  auto operandSize = static_cast<int64_t>(getSize(plan.shape.aType)),
       outSize = static_cast<int64_t>(getSize(plan.shape.dType));
  const LtEpilogue &epilogue = plan.shape.epilogue;
  std::byte *out = epilogue == LtEpilogue() ? addresses.out : addresses.finished;
  std::vector<Call> calls;
  for (const LtOffsets &offsets : plan.calls) {
    const std::byte *left = addresses.lhs + offsets.lhs * operandSize,
                    *right = addresses.rhs + offsets.rhs * operandSize;
    LtAddresses call = {plan.isSwapped ? right : left, plan.isSwapped ? left : right, out + offsets.out * outSize};
    call.bias = epilogue.hasBias ? addresses.bias : nullptr;
    call.aux = epilogue.hasAux ? addresses.preactivation + offsets.out * outSize : nullptr;
    calls.push_back({call, {nullptr, nullptr}});
  }
  return calls;
}

Status CudaProducts::prepareCalls(const ProductPlan &plan, const MatmulAddresses &addresses, Product &product) {
  product.calls = placeCalls(plan, addresses);
  MW_TRY_ASSIGN(product.choice, choose(plan.shape, product.calls));
  if (product.choice->isKnown && plan.shape.epilogue != LtEpilogue())
    for (Call &call : product.calls) {
      MW_TRY_ASSIGN(call.operation, product.choice->algorithm.describe(call.addresses));
    }
  return {};
}

/// Prepares one call for all matrices, if the library has an algorithm for that.
Status CudaProducts::prepareJoined(const ProductPlan &plan, const MatmulAddresses &addresses, Product &product) {
  std::vector<Call> matrices = placeCalls(plan, addresses);
  MW_TRY_ASSIGN(product.choice, choose(plan.shape, matrices));
  if (!product.choice->isKnown)
    return {};
  product.addresses = table.size();
  auto append = [&](auto LtAddresses::*address) {
    for (const Call &matrix : matrices)
      table.push_back(matrix.addresses.*address);
  };
  append(&LtAddresses::a);
  append(&LtAddresses::b);
  append(&LtAddresses::d);
  return {};
}

LtAlignments CudaProducts::getAlignments(const std::vector<Call> &calls) {
  // The lowest bit that is set in any of the addresses.
  auto getLowest = [&](auto LtAddresses::*address) {
    uintptr_t bits = maxAlignment;
    for (const Call &call : calls)
      bits |= reinterpret_cast<uintptr_t>(call.addresses.*address);
    return uint32_t(1) << std::countr_zero(bits);
  };
  return {getLowest(&LtAddresses::a), getLowest(&LtAddresses::b), getLowest(&LtAddresses::d),
          getLowest(&LtAddresses::bias), getLowest(&LtAddresses::aux)};
}

Result<const CudaProducts::Choice *> CudaProducts::choose(const LtShape &shape, const std::vector<Call> &calls) {
  LtAlignments alignments = getAlignments(calls);
  auto [entry, isNew] = choices.try_emplace({shape, alignments});
  if (isNew) {
    entry->second.reset(new Choice{LtAlgorithm(lt, shape, allowTf32), {nullptr, nullptr}});
    Choice &choice = *entry->second;
    MW_TRY_ASSIGN(choice.isKnown, choice.algorithm.choose(handle, alignments, calls.front().addresses));
    if (choice.isKnown && shape.epilogue == LtEpilogue()) {
      MW_TRY_ASSIGN(choice.operation, choice.algorithm.describe(calls.front().addresses));
    }
    workspaceBytes = std::max(workspaceBytes, choice.algorithm.getWorkspaceBytes());
  }
  return static_cast<const Choice *>(entry->second.get());
}

Status CudaProducts::finish(Staging &staging, CUstream stream) {
  if (workspaceBytes != 0)
    MW_CALL(cuda, cuMemAlloc, &workspace, workspaceBytes);
  if (table.empty())
    return {};
  std::span<const std::byte> bytes = std::as_bytes(std::span(table));
  MW_TRY(tableMemory.allocate(cuda, bytes.size()));
  MW_TRY(staging.upload(reinterpret_cast<CUdeviceptr>(tableMemory.get()), bytes, stream));
  for (Product &product : products)
    if (product.addresses) {
      auto step = static_cast<size_t>(product.choice->algorithm.getShape().batch) * sizeof(table.front());
      std::byte *a = tableMemory.get() + *product.addresses * sizeof(table.front());
      product.calls.push_back({{a, a + step, a + 2 * step}, {nullptr, nullptr}});
    }
  return {};
}

Status CudaProducts::execute(uint32_t number, CUstream stream) {
  const Product &product = products[number];
  for (const Call &call : product.calls) {
    cublasLtMatmulDesc_t operation = product.hasEpilogue ? call.operation.get() : product.choice->operation.get();
    MW_TRY(product.choice->algorithm.execute(handle, operation, call.addresses, workspace, workspaceBytes, stream));
  }
  return {};
}
