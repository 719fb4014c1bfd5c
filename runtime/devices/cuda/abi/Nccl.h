//===- Nccl.h - the binary interface of libnccl -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of NCCL that the runtime calls. Names and values are those of "NCCL API" in the user guide of NCCL 2.28
// (nccl.h, NCCL_VERSION_CODE 22809), all there since 2.14. VendorHeadersTest compares this file with nccl.h on machines
// that have it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_NCCL_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_ABI_NCCL_H

#include "CudaDriver.h"
#include <climits>

namespace meshwright::runtime::cuda {

using ncclComm_t = struct ncclComm *;

/// Made by one member of a group, given to all; passed by value.
struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t : unsigned {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidUsage = 5,
  ncclInProgress = 7,
};

enum ncclRedOp_t : unsigned { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3 };

enum ncclDataType_t : unsigned {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};

/// The beginning of the options of a communicator, as it was in NCCL 2.14. Libraries read as many bytes as `size` says
/// and take their own defaults for all options that came after `version`: with this one they set `cgaClusterSize` and
/// all that follow it themselves.
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = INT_MIN; ///< INT_MIN (NCCL_CONFIG_UNDEF_INT) leaves the choice to the library
  int cgaClusterSize = INT_MIN;
};

// Each is its own symbol: name and signature.
// clang-format off
#define MW_NCCL_FUNCTIONS(X)                                                                                           \
  X(ncclGetVersion, ncclResult_t(int *version))                                                                        \
  X(ncclGetErrorString, const char *(ncclResult_t result))                                                             \
  X(ncclGetLastError, const char *(ncclComm_t comm))                                                                   \
  X(ncclGetUniqueId, ncclResult_t(ncclUniqueId *id))                                                                   \
  X(ncclCommInitRankConfig,                                                                                            \
    ncclResult_t(ncclComm_t *comm, int size, ncclUniqueId id, int rank, ncclConfig_t *config))                         \
  X(ncclCommGetAsyncError, ncclResult_t(ncclComm_t comm, ncclResult_t *error))                                         \
  X(ncclCommFinalize, ncclResult_t(ncclComm_t comm))                                                                   \
  X(ncclCommDestroy, ncclResult_t(ncclComm_t comm))                                                                    \
  X(ncclCommAbort, ncclResult_t(ncclComm_t comm))                                                                      \
  X(ncclGroupStart, ncclResult_t())                                                                                    \
  X(ncclGroupEnd, ncclResult_t())                                                                                      \
  X(ncclAllReduce,                                                                                                     \
    ncclResult_t(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,       \
                 CUstream stream))                                                                                     \
  X(ncclAllGather,                                                                                                     \
    ncclResult_t(const void *from, void *to, size_t sendCount, ncclDataType_t type, ncclComm_t comm, CUstream stream)) \
  X(ncclReduceScatter,                                                                                                 \
    ncclResult_t(const void *from, void *to, size_t receiveCount, ncclDataType_t type, ncclRedOp_t op,                 \
                 ncclComm_t comm, CUstream stream))                                                                    \
  X(ncclBroadcast,                                                                                                     \
    ncclResult_t(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,             \
                 CUstream stream))                                                                                     \
  X(ncclReduce,                                                                                                        \
    ncclResult_t(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,              \
                 ncclComm_t comm, CUstream stream))                                                                    \
  X(ncclSend,                                                                                                          \
    ncclResult_t(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))     \
  X(ncclRecv, ncclResult_t(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))
// clang-format on

} // namespace meshwright::runtime::cuda

#endif
