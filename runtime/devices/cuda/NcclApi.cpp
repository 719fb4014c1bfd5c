//===- NcclApi.cpp - the functions of NCCL --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclApi.h"

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<std::unique_ptr<NcclApi>> NcclApi::load() {
  auto api = std::make_unique<NcclApi>();
  constexpr const char *names[] = {"libnccl.so.2"};
  MW_TRY_ASSIGN(api->library, DynamicLibrary::open("MESHWRIGHT_NCCL_LIBRARY", names));
  MW_TRY(api->library.find(api->ncclGetVersion, "ncclGetVersion"));
  if (api->ncclGetVersion(&api->version) != ncclSuccess)
    api->version = 0;
  std::string version = fmt::format("{}.{}.{}", api->version / 10000, api->version / 100 % 100, api->version % 100);
#define MW_FIND(name, ...) MW_TRY(api->library.find(api->name, #name, version));
  MW_NCCL_FUNCTIONS(MW_FIND)
#undef MW_FIND
  return api;
}

Status NcclApi::check(ncclResult_t result, const char *function) const {
  if (result == ncclSuccess || result == ncclInProgress)
    return {};
  const char *more = ncclGetLastError(nullptr);
  return faultError("{} fails with {}{}", function, ncclGetErrorString(result),
                    more && *more ? fmt::format(" ({})", more) : "");
}
