# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# GPUs of NVIDIA, in every build: runtime/backend/cuda/abi declares what is called of their libraries, which are opened when a run
# asks for them. Nothing of CUDA is looked for here.

# The runtime's own kernels, as text that the driver of every GPU of NVIDIA from sm_80 on can compile.
find_program(MESHWRIGHT_DEVICE_CLANG NAMES clang++-22 clang++ HINTS ${LLVM_TOOLS} REQUIRED)
set(reductions_source ${CMAKE_SOURCE_DIR}/runtime/backend/cuda/kernels/Reductions.cpp)
set(reductions ${CMAKE_BINARY_DIR}/runtime/kernels/Reductions.ptx)
add_custom_command(OUTPUT ${reductions} ${reductions}.inc
  COMMAND ${MESHWRIGHT_DEVICE_CLANG} --target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx70 -std=c++20 -O2 -ffreestanding -fno-exceptions
          -fno-rtti -nogpulib -I ${CMAKE_SOURCE_DIR}/runtime/include -MD -MF ${reductions}.d -MT ${reductions} -S
          ${reductions_source} -o ${reductions}
  COMMAND ${CMAKE_COMMAND} -D FROM=${reductions} -D TO=${reductions}.inc -P ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake
  DEPENDS ${reductions_source} ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake DEPFILE ${reductions}.d
  COMMENT "Compiling the runtime's kernels for GPUs")

mw_runtime_library(MWCuda
  backend/cuda/CublasLtApi.cpp
  backend/cuda/CudaApi.cpp
  backend/cuda/CudaCommunicator.cpp
  backend/cuda/CudaDevice.cpp
  backend/cuda/CudaKernels.cpp
  backend/cuda/CudaPlatform.cpp
  backend/cuda/CudaProducts.cpp
  backend/cuda/CudaRanges.cpp
  backend/cuda/CudaReadings.cpp
  backend/cuda/CudaTrace.cpp
  backend/cuda/DynamicLibrary.cpp
  backend/cuda/LtAlgorithm.cpp
  backend/cuda/NcclApi.cpp
  backend/cuda/NcclBackend.cpp
  backend/cuda/NcclCommunicator.cpp
  backend/cuda/OneGpuBackend.cpp
  backend/cuda/OneGpuCommunicator.cpp
  backend/cuda/ProductPlan.cpp
  backend/cuda/ReductionKernels.cpp
  backend/cuda/Staging.cpp
  ${reductions}.inc
  DEPENDS MWInproc ${CMAKE_DL_LIBS})
target_include_directories(MWCuda PRIVATE ${CMAKE_SOURCE_DIR}/runtime ${CMAKE_BINARY_DIR}/runtime/kernels)
