//===- Nvtx.h - the binary interface of NVTX injections ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVTX is no library but a protocol between a program and the profiler that watches it. The environment variable
// NVTX_INJECTION64_PATH names the profiler's library; the program opens it and calls its InitializeInjectionNvtx2 with
// a function that hands out tables; the profiler writes the addresses of its functions to places that the tables name.
// The layouts are those of NVTX 3 (nvtx3/nvtxDetail/nvtxTypes.h, nvtxInit.h), which keeps them compatible.
// VendorHeadersTest compares this file with those headers on machines that have them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_NVTX_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_NVTX_H

#include <cstddef>
#include <cstdint>

namespace meshwright::runtime::cuda {

inline constexpr uint32_t nvtxVersion = 3;

/// Groups of functions. Numbers of functions within one begin with 1.
enum NvtxCallbackModule : unsigned {
  NVTX_CB_MODULE_CORE = 1,
  NVTX_CB_MODULE_CUDA = 2,
  NVTX_CB_MODULE_OPENCL = 3,
  NVTX_CB_MODULE_CUDART = 4,
  NVTX_CB_MODULE_CORE2 = 5,
  NVTX_CB_MODULE_SYNC = 6,
};

/// Functions of the module CORE: int(const char *) and int(), which return how many ranges enclose the one that they
/// open or close.
inline constexpr unsigned NVTX_CBID_CORE_RangePushA = 9;
inline constexpr unsigned NVTX_CBID_CORE_RangePop = 11;

/// Tables that a profiler may ask for.
inline constexpr uint32_t NVTX_ETID_CALLBACKS = 1;
inline constexpr uint32_t NVTX_ETID_VERSIONINFO = 3;

using NvtxFunctionPointer = void (*)();
/// Places of function pointers by the numbers of the functions; place 0 is null.
using NvtxFunctionTable = NvtxFunctionPointer **;

struct NvtxExportTableCallbacks {
  size_t struct_size;
  /// Returns 1, the places of a module and how many there are, the one of number 0 counted; or 0.
  int (*GetModuleFunctionTable)(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size);
};

struct NvtxExportTableVersionInfo {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved0;
  void (*SetInjectionNvtxVersion)(uint32_t version);
};

using NvtxGetExportTableFunc_t = const void *(*)(uint32_t table);
/// InitializeInjectionNvtx2 of a profiler's library; 0 says that it failed.
using NvtxInitializeInjectionNvtxFunc_t = int (*)(NvtxGetExportTableFunc_t getExportTable);

} // namespace meshwright::runtime::cuda

#endif
