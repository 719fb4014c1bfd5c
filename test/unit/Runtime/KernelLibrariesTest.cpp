//===- KernelLibrariesTest.cpp - compiled kernels of a package ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/KernelLibraries.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

TEST(KernelLibraries, FeaturesAreComparedWhateverTheirSpelling) {
  std::vector<std::string> wanted = {"avx512bf16",  "+avx2",     "fma", "sse4.1", "64bit",
                                     "avx512-vnni", "-avx512er", "bmi", "avx10.9"};
  EXPECT_TRUE(getMissingFeatures(wanted, "fpu avx2 fma avx512_bf16 avx512_vnni bmi1").empty());
  EXPECT_EQ(getMissingFeatures(wanted, "fpu avx2 fma bmi1"), (std::vector<std::string>{"avx512bf16", "avx512-vnni"}));
}

TEST(KernelLibraries, FirstThatTheCpuCanRunIsLoaded) {
  TempFolder folder;
  Package message = makePackage();
  KernelLibrary *impossible = message.add_libraries();
  impossible->set_target("future");
  impossible->set_file("kernels-future.so");
  impossible->add_cpu_features("avx512er");
  message.mutable_libraries()->SwapElements(0, 2);
  ASSERT_TRUE(writePackage(message, folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  auto kernels = LoadedKernels::load(package, "");
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  EXPECT_EQ(kernels->getTarget(), "test");
  EXPECT_TRUE(kernels->find("test_sum").ok());
  EXPECT_EQ(kernels->find("missing").status().message(), folder / "p/kernels-test.so" + " has no kernel missing");
  EXPECT_EQ(LoadedKernels::load(package, "future").status().message(),
            "the package has no kernels for future; it has them for future (needs avx512er); "
            "emulated (for a GPU); test");
  EXPECT_EQ(LoadedKernels::load(package, "other").status().message(),
            "the package has no kernels for other; it has them for future; emulated (for a GPU); test");
}
