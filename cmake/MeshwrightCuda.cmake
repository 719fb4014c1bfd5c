# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# GPUs of NVIDIA, in every build: runtime/devices/cuda/abi declares what is called of their libraries, which are opened when a run
# asks for them. Nothing of CUDA is looked for here.

# The runtime's own kernels, as text that the driver of every GPU of NVIDIA from sm_80 on can compile.
find_program(MESHWRIGHT_DEVICE_CLANG NAMES clang++-22 clang++ HINTS ${LLVM_TOOLS} REQUIRED)
set(reductions_source ${PROJECT_SOURCE_DIR}/runtime/devices/cuda/kernels/Reductions.cpp)
set(reductions ${PROJECT_BINARY_DIR}/runtime/kernels/Reductions.ptx)
add_custom_command(OUTPUT ${reductions} ${reductions}.inc
  COMMAND ${MESHWRIGHT_DEVICE_CLANG} --target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx70 -std=c++20 -O2 -ffreestanding -fno-exceptions
          -fno-rtti -nogpulib -I ${PROJECT_SOURCE_DIR}/runtime/values/include
          -I ${PROJECT_SOURCE_DIR}/runtime/communicate/include -MD -MF ${reductions}.d -MT ${reductions} -S
          ${reductions_source} -o ${reductions}
  COMMAND ${CMAKE_COMMAND} -D FROM=${reductions} -D TO=${reductions}.inc -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
  DEPENDS ${reductions_source} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake DEPFILE ${reductions}.d
  COMMENT "Compiling the runtime's kernels for GPUs")

mw_runtime_library(MWCuda devices/cuda
  CublasLtApi.cpp
  CudaApi.cpp
  CudaCommunicator.cpp
  CudaDevice.cpp
  CudaKernels.cpp
  CudaPlatform.cpp
  CudaProducts.cpp
  CudaRanges.cpp
  CudaReadings.cpp
  CudaTrace.cpp
  DynamicLibrary.cpp
  LtAlgorithm.cpp
  NcclApi.cpp
  NcclBackend.cpp
  NcclCommunicator.cpp
  OneGpuBackend.cpp
  OneGpuCommunicator.cpp
  ProductPlan.cpp
  ReductionKernels.cpp
  Staging.cpp
  ${reductions}.inc
  DEPENDS MWRuntimePlatform ${CMAKE_DL_LIBS})
target_include_directories(MWCuda PRIVATE ${PROJECT_BINARY_DIR}/runtime/kernels)
