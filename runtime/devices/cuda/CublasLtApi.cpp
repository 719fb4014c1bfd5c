//===- CublasLtApi.cpp - the functions of cuBLASLt ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtApi.h"

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<std::unique_ptr<CublasLtApi>> CublasLtApi::load() {
  auto api = std::make_unique<CublasLtApi>();
  constexpr const char *names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  MW_TRY_ASSIGN(api->library, DynamicLibrary::open("MESHWRIGHT_CUBLASLT_LIBRARY", names));
  MW_TRY(api->library.find(api->cublasLtGetVersion, "cublasLtGetVersion"));
  std::string version = std::to_string(api->cublasLtGetVersion());
#define MW_FIND(name, ...) MW_TRY(api->library.find(api->name, #name, version));
  MW_CUBLASLT_FUNCTIONS(MW_FIND)
#undef MW_FIND
  return api;
}

Status CublasLtApi::check(cublasStatus_t status, const char *function) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  return faultError("{} fails with {}", function, cublasLtGetStatusString(status));
}
