//===- VendorHeadersTest.cpp - the runtime's own headers are right --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares runtime/devices/cuda/abi with NVIDIA's headers while it is compiled, on machines whose compiler finds them
// (CPATH names more folders): values, sizes, offsets and the type of each function.
//
//===----------------------------------------------------------------------===//

#include "devices/cuda/abi/CublasLt.h"
#include "devices/cuda/abi/CudaDriver.h"
#include "devices/cuda/abi/Nccl.h"
#include "devices/cuda/abi/Nvtx.h"
#include <gtest/gtest.h>
#include <string_view>
#include <type_traits>

namespace meshwright::runtime::cuda {

// Macros of cuda.h hide these.
static constexpr unsigned ownPortable = CU_MEMHOSTALLOC_PORTABLE;
static void *const ownParameterEnd = CU_LAUNCH_PARAM_END;
static void *const ownParameterPointer = CU_LAUNCH_PARAM_BUFFER_POINTER;
static void *const ownParameterSize = CU_LAUNCH_PARAM_BUFFER_SIZE;

/// True if types A of the caller and B of the callee have the same representation.
template <typename A, typename B>
struct Matches : std::bool_constant<std::is_same_v<A, B> || (std::is_enum_v<A> && std::is_enum_v<B>)> {};
template <typename A, typename B> struct Matches<A *, B *> : Matches<A, B> {};
template <typename A, typename B> struct Matches<const A, const B> : Matches<A, B> {};
template <typename A, typename B, typename... As, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct Matches<A(As...), B(Bs...)> : std::conjunction<Matches<A, B>, Matches<As, Bs>...> {};

} // namespace meshwright::runtime::cuda

#define MW_MATCH(name)                                                                                                 \
  template <> struct Matches<name, ::name> : std::true_type {}
#define MW_EQUAL(name) static_assert(static_cast<int64_t>(name) == static_cast<int64_t>(::name))
#define MW_ENUM(name) static_assert(sizeof(name) == sizeof(::name) && alignof(name) == alignof(::name))
#define MW_SIZE(name)                                                                                                  \
  MW_MATCH(name);                                                                                                      \
  static_assert(sizeof(name) == sizeof(::name) && alignof(name) == alignof(::name))
#define MW_FIELD(type, field)                                                                                          \
  static_assert(offsetof(type, field) == offsetof(::type, field) && sizeof(type::field) == sizeof(::type::field))
#define MW_FUNCTION(name, ...) static_assert(Matches<__VA_ARGS__, decltype(::name)>::value, #name);

#if __has_include(<cuda.h>)
#define MW_HAS_CUDA 1
#include <cuda.h>

namespace meshwright::runtime::cuda {

MW_MATCH(CUctx_st);
MW_MATCH(CUmod_st);
MW_MATCH(CUfunc_st);
MW_MATCH(CUstream_st);
MW_MATCH(CUevent_st);
MW_MATCH(CUgraph_st);
MW_MATCH(CUgraphExec_st);
MW_SIZE(CUuuid);
MW_ENUM(CUresult);
MW_ENUM(CUdevice_attribute);
MW_ENUM(CUfunction_attribute);
MW_ENUM(CUjit_option);
MW_ENUM(CUstreamCaptureMode);
static_assert(std::is_same_v<CUdevice, ::CUdevice> && std::is_same_v<CUdeviceptr, ::CUdeviceptr>);

MW_EQUAL(CUDA_SUCCESS);
MW_EQUAL(CUDA_ERROR_INVALID_VALUE);
MW_EQUAL(CUDA_ERROR_OUT_OF_MEMORY);
MW_EQUAL(CUDA_ERROR_NO_DEVICE);
MW_EQUAL(CUDA_ERROR_INVALID_IMAGE);
MW_EQUAL(CUDA_ERROR_INVALID_CONTEXT);
MW_EQUAL(CUDA_ERROR_INVALID_HANDLE);
MW_EQUAL(CUDA_ERROR_ILLEGAL_STATE);
MW_EQUAL(CUDA_ERROR_NOT_FOUND);
MW_EQUAL(CUDA_ERROR_NOT_READY);
MW_EQUAL(CUDA_ERROR_ILLEGAL_ADDRESS);
MW_EQUAL(CUDA_ERROR_LAUNCH_FAILED);
MW_EQUAL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
MW_EQUAL(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
MW_EQUAL(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
MW_EQUAL(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
MW_EQUAL(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
MW_EQUAL(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
MW_EQUAL(CU_JIT_ERROR_LOG_BUFFER);
MW_EQUAL(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
MW_EQUAL(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
MW_EQUAL(CU_STREAM_NON_BLOCKING);
MW_EQUAL(CU_EVENT_DEFAULT);
MW_EQUAL(CU_EVENT_DISABLE_TIMING);
static_assert(ownPortable == CU_MEMHOSTALLOC_PORTABLE);

// The symbol that cuda.h of the same version puts in the place of the name.
#define MW_TEXT(name) MW_TEXT_IMPL(name)
#define MW_TEXT_IMPL(name) #name
#define MW_SYMBOL(name, symbol, ...)                                                                                   \
  MW_FUNCTION(symbol, __VA_ARGS__)                                                                                     \
  static_assert(CUDA_VERSION / 1000 != 13 || std::string_view(MW_TEXT(name)) == #symbol, #symbol);
MW_CUDA_FUNCTIONS(MW_SYMBOL)
#if CUDA_VERSION >= 12080
MW_CUDA_RENAMED_FUNCTIONS(MW_SYMBOL)
#endif

} // namespace meshwright::runtime::cuda
#endif

#if __has_include(<cublasLt.h>)
#define MW_HAS_CUBLASLT 1
#include <cublasLt.h>

namespace meshwright::runtime::cuda {

MW_MATCH(cublasLtContext);
MW_MATCH(cublasLtMatmulDescOpaque_t);
MW_MATCH(cublasLtMatrixLayoutOpaque_t);
MW_MATCH(cublasLtMatmulPreferenceOpaque_t);
MW_SIZE(cublasLtMatmulAlgo_t);
MW_SIZE(cublasLtMatmulHeuristicResult_t);
MW_FIELD(cublasLtMatmulHeuristicResult_t, algo);
MW_FIELD(cublasLtMatmulHeuristicResult_t, workspaceSize);
MW_FIELD(cublasLtMatmulHeuristicResult_t, state);
MW_FIELD(cublasLtMatmulHeuristicResult_t, wavesCount);
MW_FIELD(cublasLtMatmulHeuristicResult_t, reserved);
MW_ENUM(cudaDataType);
MW_ENUM(cublasStatus_t);
MW_ENUM(cublasOperation_t);
MW_ENUM(cublasComputeType_t);
MW_ENUM(cublasLtMatmulDescAttributes_t);
MW_ENUM(cublasLtEpilogue_t);
MW_ENUM(cublasLtMatrixLayoutAttribute_t);
MW_ENUM(cublasLtMatmulPreferenceAttributes_t);

MW_EQUAL(CUDA_R_32F);
MW_EQUAL(CUDA_R_64F);
MW_EQUAL(CUDA_R_16F);
MW_EQUAL(CUDA_R_16BF);
MW_EQUAL(CUBLAS_STATUS_SUCCESS);
MW_EQUAL(CUBLAS_STATUS_INVALID_VALUE);
MW_EQUAL(CUBLAS_STATUS_EXECUTION_FAILED);
MW_EQUAL(CUBLAS_STATUS_NOT_SUPPORTED);
MW_EQUAL(CUBLAS_OP_N);
MW_EQUAL(CUBLAS_OP_T);
MW_EQUAL(CUBLAS_COMPUTE_32F);
MW_EQUAL(CUBLAS_COMPUTE_64F);
MW_EQUAL(CUBLAS_COMPUTE_32F_FAST_TF32);
MW_EQUAL(CUBLASLT_MATMUL_DESC_TRANSA);
MW_EQUAL(CUBLASLT_MATMUL_DESC_TRANSB);
MW_EQUAL(CUBLASLT_MATMUL_DESC_EPILOGUE);
MW_EQUAL(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
MW_EQUAL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
MW_EQUAL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
MW_EQUAL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
MW_EQUAL(CUBLASLT_EPILOGUE_DEFAULT);
MW_EQUAL(CUBLASLT_EPILOGUE_BIAS);
MW_EQUAL(CUBLASLT_EPILOGUE_GELU);
MW_EQUAL(CUBLASLT_EPILOGUE_GELU_BIAS);
MW_EQUAL(CUBLASLT_EPILOGUE_GELU_AUX);
MW_EQUAL(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
MW_EQUAL(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
MW_EQUAL(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
MW_EQUAL(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
MW_EQUAL(CUBLASLT_BATCH_MODE_STRIDED);
MW_EQUAL(CUBLASLT_BATCH_MODE_POINTER_ARRAY);
MW_EQUAL(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
MW_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
MW_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
MW_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
MW_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

MW_CUBLASLT_FUNCTIONS(MW_FUNCTION)

} // namespace meshwright::runtime::cuda
#endif

#if __has_include(<nccl.h>)
#define MW_HAS_NCCL 1
#include <nccl.h>

namespace meshwright::runtime::cuda {

MW_MATCH(ncclComm);
MW_SIZE(ncclUniqueId);
MW_ENUM(ncclResult_t);
MW_ENUM(ncclRedOp_t);
MW_ENUM(ncclDataType_t);
// The first members of a longer struct.
MW_MATCH(ncclConfig_t);
MW_FIELD(ncclConfig_t, size);
MW_FIELD(ncclConfig_t, magic);
MW_FIELD(ncclConfig_t, version);
MW_FIELD(ncclConfig_t, blocking);
MW_FIELD(ncclConfig_t, cgaClusterSize);
static_assert(alignof(ncclConfig_t) == alignof(::ncclConfig_t) && sizeof(ncclConfig_t) <= sizeof(::ncclConfig_t));
static_assert(sizeof(ncclConfig_t) == offsetof(ncclConfig_t, cgaClusterSize) + sizeof(int), "no padding");

MW_EQUAL(ncclSuccess);
MW_EQUAL(ncclUnhandledCudaError);
MW_EQUAL(ncclSystemError);
MW_EQUAL(ncclInternalError);
MW_EQUAL(ncclInvalidUsage);
MW_EQUAL(ncclInProgress);
MW_EQUAL(ncclSum);
MW_EQUAL(ncclProd);
MW_EQUAL(ncclMax);
MW_EQUAL(ncclMin);
MW_EQUAL(ncclInt8);
MW_EQUAL(ncclUint8);
MW_EQUAL(ncclInt32);
MW_EQUAL(ncclUint32);
MW_EQUAL(ncclInt64);
MW_EQUAL(ncclUint64);
MW_EQUAL(ncclFloat16);
MW_EQUAL(ncclFloat32);
MW_EQUAL(ncclFloat64);
MW_EQUAL(ncclBfloat16);

MW_NCCL_FUNCTIONS(MW_FUNCTION)

} // namespace meshwright::runtime::cuda
#endif

#if __has_include(<nvtx3/nvToolsExt.h>)
#define MW_HAS_NVTX 1
#include <nvtx3/nvToolsExt.h>

namespace meshwright::runtime::cuda {

MW_ENUM(NvtxCallbackModule);
MW_EQUAL(NVTX_CB_MODULE_CORE);
MW_EQUAL(NVTX_CB_MODULE_CUDA);
MW_EQUAL(NVTX_CB_MODULE_OPENCL);
MW_EQUAL(NVTX_CB_MODULE_CUDART);
MW_EQUAL(NVTX_CB_MODULE_CORE2);
MW_EQUAL(NVTX_CB_MODULE_SYNC);
MW_EQUAL(NVTX_CBID_CORE_RangePushA);
MW_EQUAL(NVTX_CBID_CORE_RangePop);
MW_EQUAL(NVTX_ETID_CALLBACKS);
MW_EQUAL(NVTX_ETID_VERSIONINFO);
static_assert(nvtxVersion == NVTX_VERSION);
MW_SIZE(NvtxExportTableCallbacks);
MW_FIELD(NvtxExportTableCallbacks, GetModuleFunctionTable);
MW_SIZE(NvtxExportTableVersionInfo);
MW_FIELD(NvtxExportTableVersionInfo, version);
MW_FIELD(NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
static_assert(std::is_same_v<NvtxFunctionTable, ::NvtxFunctionTable>);
static_assert(std::is_same_v<NvtxInitializeInjectionNvtxFunc_t, ::NvtxInitializeInjectionNvtxFunc_t>);
static_assert(Matches<std::remove_pointer_t<decltype(NvtxExportTableCallbacks::GetModuleFunctionTable)>,
                      std::remove_pointer_t<decltype(::NvtxExportTableCallbacks::GetModuleFunctionTable)>>::value);

} // namespace meshwright::runtime::cuda
#endif

namespace cuda = meshwright::runtime::cuda;

TEST(VendorHeaders, CudaDriver) {
#ifdef MW_HAS_CUDA
  EXPECT_EQ(cuda::ownParameterEnd, CU_LAUNCH_PARAM_END);
  EXPECT_EQ(cuda::ownParameterPointer, CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(cuda::ownParameterSize, CU_LAUNCH_PARAM_BUFFER_SIZE);
#else
  GTEST_SKIP() << "cuda.h is not where the compiler looks";
#endif
}

TEST(VendorHeaders, CublasLt) {
#ifndef MW_HAS_CUBLASLT
  GTEST_SKIP() << "cublasLt.h is not where the compiler looks";
#endif
}

TEST(VendorHeaders, Nccl) {
#ifdef MW_HAS_NCCL
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const cuda::ncclConfig_t ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.cgaClusterSize, theirs.cgaClusterSize);
#else
  GTEST_SKIP() << "nccl.h is not where the compiler looks";
#endif
}

TEST(VendorHeaders, Nvtx) {
#ifndef MW_HAS_NVTX
  GTEST_SKIP() << "nvtx3/nvToolsExt.h is not where the compiler looks";
#endif
}
