//===- NcclApi.h - the functions of NCCL ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_NCCLAPI_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_NCCLAPI_H

#include "DynamicLibrary.h"
#include "abi/Nccl.h"
#include <type_traits>

namespace meshwright::runtime::cuda {

/// NCCL: libnccl.so.2, or what MESHWRIGHT_NCCL_LIBRARY names. From version 2.14 on, which has communicators that do not
/// block.
struct NcclApi {
  static Result<std::unique_ptr<NcclApi>> load();
  /// Success, or an error; what is still being done is none.
  Status check(ncclResult_t result, const char *function) const;

  DynamicLibrary library;
  int version = 0; ///< 22809 is 2.28.9
#define MW_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  MW_NCCL_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE
};

} // namespace meshwright::runtime::cuda

#endif
