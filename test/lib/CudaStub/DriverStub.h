//===- DriverStub.h - the driver's functions in the stub --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_CUDASTUB_DRIVERSTUB_H
#define MESHWRIGHT_TEST_LIB_CUDASTUB_DRIVERSTUB_H

#include "Stub.h"
#include "devices/cuda/abi/CudaDriver.h"
#include <type_traits>

using namespace meshwright::runtime::cuda;

#define MW_STUB(name) MW_STUB_EXPORT CUresult name

// A definition with another signature does not compile.
#define MW_DECLARE(name, symbol, ...) MW_STUB_EXPORT std::type_identity_t<__VA_ARGS__> symbol;
MW_CUDA_FUNCTIONS(MW_DECLARE)
MW_CUDA_RENAMED_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE

#endif
