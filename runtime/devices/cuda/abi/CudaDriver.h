//===- CudaDriver.h - the binary interface of libcuda -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver API that the runtime calls: types, values and signatures, so that every build can use a
// GPU and none needs NVIDIA's headers. Names and values are those of "CUDA Driver API", the reference manual of CUDA
// 13.0 (cuda.h, CUDA_VERSION 13000); the manual of CUDA 11.4 has the same ones. The driver never changes the meaning of
// a symbol: a changed function gets a new symbol (cuMemAlloc_v2), and the old one stays. VendorHeadersTest compares
// this file with cuda.h on machines that have it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_CUDADRIVER_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_CUDADRIVER_H

#include <cstddef>
#include <cstdint>

namespace meshwright::runtime::cuda {

//===----------------------------------------------------------------------===//
// Types: manual, section "Data types used by CUDA driver"
//===----------------------------------------------------------------------===//

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;

struct CUuuid {
  char bytes[16];
};

// Enumerations of C have the size of an int. Each lists only the values that are used, hence the fixed types: the
// driver may return others.

enum CUresult : unsigned {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
};

enum CUdevice_attribute : unsigned {
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};

enum CUfunction_attribute : unsigned { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

enum CUjit_option : unsigned {
  CU_JIT_ERROR_LOG_BUFFER = 5,            ///< char *
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6, ///< unsigned, in the place of a pointer
};

enum CUstreamCaptureMode : unsigned { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };

enum CUstream_flags : unsigned { CU_STREAM_NON_BLOCKING = 1 };

enum CUevent_flags : unsigned { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };

// Macros in cuda.h.

/// A flag of cuMemHostAlloc: every context may copy to and from the memory.
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;

/// Keys in the last argument of cuLaunchKernel, a list of pairs of key and value.
inline void *const CU_LAUNCH_PARAM_END = nullptr;
inline void *const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void *>(uintptr_t(1));
inline void *const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void *>(uintptr_t(2));

//===----------------------------------------------------------------------===//
// Functions: name in the manual, symbol in libcuda, signature
//===----------------------------------------------------------------------===//

// clang-format off
#define MW_CUDA_FUNCTIONS(X)                                                                                           \
  X(cuInit, cuInit, CUresult(unsigned flags))                                                                          \
  X(cuDriverGetVersion, cuDriverGetVersion, CUresult(int *version))                                                    \
  X(cuGetErrorName, cuGetErrorName, CUresult(CUresult error, const char **name))                                       \
  X(cuGetErrorString, cuGetErrorString, CUresult(CUresult error, const char **text))                                   \
  X(cuDeviceGetCount, cuDeviceGetCount, CUresult(int *count))                                                          \
  X(cuDeviceGet, cuDeviceGet, CUresult(CUdevice *device, int ordinal))                                                 \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                                                        \
    CUresult(int *value, CUdevice_attribute attribute, CUdevice device))                                               \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, CUresult(CUuuid *uuid, CUdevice device))                                      \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, CUresult(CUcontext *context, CUdevice device))                 \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, CUresult(CUdevice device))                                \
  X(cuCtxSetCurrent, cuCtxSetCurrent, CUresult(CUcontext context))                                                     \
  X(cuMemGetInfo, cuMemGetInfo_v2, CUresult(size_t *free, size_t *total))                                              \
  X(cuMemAlloc, cuMemAlloc_v2, CUresult(CUdeviceptr *address, size_t bytes))                                           \
  X(cuMemFree, cuMemFree_v2, CUresult(CUdeviceptr address))                                                            \
  X(cuMemHostAlloc, cuMemHostAlloc, CUresult(void **address, size_t bytes, unsigned flags))                            \
  X(cuMemFreeHost, cuMemFreeHost, CUresult(void *address))                                                             \
  X(cuMemcpyAsync, cuMemcpyAsync, CUresult(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))           \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                                           \
    CUresult(CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                                         \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, CUresult(void *to, CUdeviceptr from, size_t bytes, CUstream stream))      \
  X(cuMemsetD8Async, cuMemsetD8Async,                                                                                  \
    CUresult(CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                                      \
  X(cuMemsetD32Async, cuMemsetD32Async, CUresult(CUdeviceptr to, unsigned value, size_t count, CUstream stream))       \
  X(cuStreamCreate, cuStreamCreate, CUresult(CUstream *stream, unsigned flags))                                        \
  X(cuStreamDestroy, cuStreamDestroy_v2, CUresult(CUstream stream))                                                    \
  X(cuStreamSynchronize, cuStreamSynchronize, CUresult(CUstream stream))                                               \
  X(cuStreamQuery, cuStreamQuery, CUresult(CUstream stream))                                                           \
  X(cuStreamWaitEvent, cuStreamWaitEvent, CUresult(CUstream stream, CUevent event, unsigned flags))                    \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, CUresult(CUstream stream, CUstreamCaptureMode mode))                \
  X(cuStreamEndCapture, cuStreamEndCapture, CUresult(CUstream stream, CUgraph *graph))                                 \
  X(cuEventCreate, cuEventCreate, CUresult(CUevent *event, unsigned flags))                                            \
  X(cuEventDestroy, cuEventDestroy_v2, CUresult(CUevent event))                                                        \
  X(cuEventRecord, cuEventRecord, CUresult(CUevent event, CUstream stream))                                            \
  X(cuEventSynchronize, cuEventSynchronize, CUresult(CUevent event))                                                   \
  X(cuEventQuery, cuEventQuery, CUresult(CUevent event))                                                               \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx,                                                                            \
    CUresult(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values))               \
  X(cuModuleUnload, cuModuleUnload, CUresult(CUmodule module))                                                         \
  X(cuModuleGetFunction, cuModuleGetFunction, CUresult(CUfunction *function, CUmodule module, const char *name))       \
  X(cuFuncSetAttribute, cuFuncSetAttribute, CUresult(CUfunction function, CUfunction_attribute attribute, int value))  \
  X(cuLaunchKernel, cuLaunchKernel,                                                                                    \
    CUresult(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,    \
             unsigned blockZ, unsigned sharedBytes, CUstream stream, void **arguments, void **extra))                  \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags,                                                                   \
    CUresult(CUgraphExec *executable, CUgraph graph, unsigned long long flags))                                        \
  X(cuGraphLaunch, cuGraphLaunch, CUresult(CUgraphExec executable, CUstream stream))                                   \
  X(cuGraphDestroy, cuGraphDestroy, CUresult(CUgraph graph))                                                           \
  X(cuGraphExecDestroy, cuGraphExecDestroy, CUresult(CUgraphExec executable))

/// Functions of newer drivers, with the symbol that older ones have in their place: cuEventElapsedTime_v2 is there from
/// CUDA 12.8 on.
#define MW_CUDA_RENAMED_FUNCTIONS(X)                                                                                   \
  X(cuEventElapsedTime, cuEventElapsedTime_v2, CUresult(float *milliseconds, CUevent begin, CUevent end))
// clang-format on

} // namespace meshwright::runtime::cuda

#endif
