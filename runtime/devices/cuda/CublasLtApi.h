//===- CublasLtApi.h - the functions of cuBLASLt ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUBLASLTAPI_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUBLASLTAPI_H

#include "DynamicLibrary.h"
#include "abi/CublasLt.h"
#include <type_traits>

namespace meshwright::runtime::cuda {

/// cuBLASLt: libcublasLt.so.13 or .12, or what MESHWRIGHT_CUBLASLT_LIBRARY names.
struct CublasLtApi {
  static Result<std::unique_ptr<CublasLtApi>> load();
  Status check(cublasStatus_t status, const char *function) const;

  DynamicLibrary library;
#define MW_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  MW_CUBLASLT_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE
};

} // namespace meshwright::runtime::cuda

#endif
