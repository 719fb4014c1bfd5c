# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# GPUs of NVIDIA, where the headers of CUDA, cuBLASLt and NCCL are. Nothing is linked with their libraries, which are opened when
# a run asks for them.

set(cuda_places /usr/local/cuda/include /opt/cuda/include)
find_path(MESHWRIGHT_CUDA_INCLUDE cuda.h PATHS ${cuda_places})
find_path(MESHWRIGHT_CUBLASLT_INCLUDE cublasLt.h PATHS ${cuda_places})
find_path(MESHWRIGHT_NCCL_INCLUDE nccl.h PATHS ${cuda_places})

if(NOT MESHWRIGHT_CUDA_INCLUDE OR NOT MESHWRIGHT_CUBLASLT_INCLUDE OR NOT MESHWRIGHT_NCCL_INCLUDE)
  message(STATUS "cuda.h, cublasLt.h or nccl.h not found: dist-run gets no GPUs (--device=cuda says so)")
  mw_runtime_library(MWCuda backend/cuda/WithoutCuda.cpp DEPENDS MWRuntimeSupport)
  return()
endif()
message(STATUS "CUDA's headers are in ${MESHWRIGHT_CUDA_INCLUDE}, NCCL's in ${MESHWRIGHT_NCCL_INCLUDE}: dist-run gets GPUs")

mw_runtime_library(MWCuda
  backend/cuda/CublasLtApi.cpp
  backend/cuda/CudaApi.cpp
  backend/cuda/CudaDevice.cpp
  backend/cuda/CudaKernels.cpp
  backend/cuda/CudaPlatform.cpp
  backend/cuda/CudaProducts.cpp
  backend/cuda/CudaReadings.cpp
  backend/cuda/DynamicLibrary.cpp
  backend/cuda/NcclApi.cpp
  backend/cuda/NcclBackend.cpp
  backend/cuda/NcclCommunicator.cpp
  backend/cuda/ProductPlan.cpp
  backend/cuda/Staging.cpp
  DEPENDS MWBackends ${CMAKE_DL_LIBS})
target_include_directories(MWCuda PRIVATE ${CMAKE_SOURCE_DIR}/runtime)
target_include_directories(MWCuda SYSTEM PUBLIC ${MESHWRIGHT_CUDA_INCLUDE} ${MESHWRIGHT_CUBLASLT_INCLUDE} ${MESHWRIGHT_NCCL_INCLUDE})
