//===- CudaDeviceTest.cpp - a device is asked for what it has not ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BareDevice.h"
#include "devices/cuda/CudaApi.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

// Tests that convolutions of the CPUs' library are refused with what to do, by preparing and by running one.
TEST(CudaDevice, HasNoConvolutions) {
  BareDevice bare;
  Instruction instruction;
  instruction.set_name("conv");
  instruction.set_location("net.py:7");
  auto prepared = bare.device->prepareConvolution(instruction, nullptr, nullptr, nullptr);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.status().message(),
            "conv (net.py:7): the package computes its convolutions by the library of CPUs; one that is compiled for "
            "GPUs has kernels for them");
  EXPECT_EQ(bare.device->convolve(3).message(), "convolution 3 was not prepared");
}

// Tests that a backend that GPUs do not have is refused.
TEST(CudaDevice, BackendsAreKnown) {
  BareDevice bare;
  PlatformOptions options;
  options.backend = "carrier pigeons";
  auto platform = cudaKind.createPlatform(*bare.package, *bare.world, 1, options);
  ASSERT_FALSE(platform.ok());
  EXPECT_EQ(platform.status().message(), "GPUs of NVIDIA have no backend \"carrier pigeons\"");
}

// Tests that an error that the driver has no name for is told by its number.
TEST(CudaApi, ErrorsWithoutNameHaveNumbers) {
  Stub stub;
  auto api = cuda::CudaApi::load();
  ASSERT_TRUE(api.ok());
  EXPECT_TRUE((*api)->check(cuda::CUDA_SUCCESS, "cuInit").ok());
  EXPECT_EQ((*api)->check(static_cast<cuda::CUresult>(99'999), "cuInit").message(), "cuInit fails with error 99999");
}
