//===- KernelLibrariesTest.cpp - compiled kernels of a package ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/KernelLibraries.h"
#include "ContentHash.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include <array>
#include <filesystem>
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
  EXPECT_TRUE(kernels->find("test_sum", {}, 0).ok());
  EXPECT_EQ(kernels->find("missing", {}, 0).status().message(),
            folder / "p/kernels-test.so" + " has no kernel missing");
  EXPECT_EQ(kernels->find("test_numbers", {}, 0).status().message(),
            folder / "p/kernels-test.so" + " has no kernel test_numbers")
      << "what the library has besides kernels is none";
  EXPECT_EQ(LoadedKernels::load(package, "future").status().message(),
            "the package has no kernels for future; it has them for future (needs avx512er); "
            "emulated (for a GPU); test");
  EXPECT_EQ(LoadedKernels::load(package, "other").status().message(),
            "the package has no kernels for other; it has them for future; emulated (for a GPU); test");
}

TEST(KernelLibraries, ACallIsWhatTheKernelIsCompiledFor) {
  TempFolder folder;
  ASSERT_TRUE(writePackage(makePackage(), folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  auto kernels = LoadedKernels::load(package, "");
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  std::array<std::byte, 64> bytes;
  auto at = [&](size_t begin, size_t size = 8) { return std::span(bytes).subspan(begin, size); };
  auto find = [&](std::vector<std::span<std::byte>> buffers, uint32_t outputs = 1,
                  const char *name = "test_add_pairs") {
    return kernels->find(name, buffers, outputs).status().message();
  };
  EXPECT_EQ(find({at(0), at(8), at(16)}), "");
  EXPECT_EQ(find({at(0), at(0), at(16)}), "") << "operands may be the same";
  EXPECT_EQ(find({at(0), at(4), at(16)}), "") << "and may overlap";
  EXPECT_EQ(find({at(0), at(8, 16), at(32)}), "");
  EXPECT_EQ(find({at(0), at(8)}), "kernel test_add_pairs takes 3 buffers but is given 2");
  EXPECT_EQ(find({at(0), at(8), at(16, 7)}),
            "argument 2 of kernel test_add_pairs is to have 8 bytes but its buffer has 7");
  EXPECT_EQ(find({at(0), at(8), at(16)}, 0),
            "kernel test_add_pairs writes argument 2, but the package says that it only reads it");
  EXPECT_EQ(find({at(0), at(8), at(16)}, 2),
            "kernel test_add_pairs does not write argument 1, but the package says so");
  for (size_t begin : {0, 4, 8, 12})
    EXPECT_EQ(
        find({at(0), at(8), at(begin)}),
        begin < 8
            ? "arguments 0 and 2 of kernel test_add_pairs overlap, and it is not compiled to work in place there"
            : "arguments 1 and 2 of kernel test_add_pairs overlap, and it is not compiled to work in place there");
  // A long operand that reaches over several others.
  EXPECT_EQ(find({at(0, 64), at(8), at(4)}),
            "arguments 0 and 2 of kernel test_add_pairs overlap, and it is not compiled to work in place there");
  const char *inPlace = "test_add_in_place";
  EXPECT_EQ(find({at(0), at(8), at(0)}, 1, inPlace), "");
  EXPECT_EQ(find({at(0), at(8), at(16)}, 1, inPlace),
            "kernel test_add_in_place writes argument 2 over argument 0, but the package has them in different places");
  EXPECT_EQ(find({at(0), at(4), at(0)}, 1, inPlace),
            "arguments 0 and 1 of kernel test_add_in_place overlap, and it is not compiled to work in place there");
}

TEST(KernelLibraries, WhatIsNoWholeLibraryIsNotLoaded) {
  TempFolder folder;
  ASSERT_TRUE(writePackage(makePackage(), folder / "p"));
  std::string path = folder / "p/kernels-test.so";
  auto size = std::filesystem::file_size(path);
  // The package has the hash of the library as it is: its hash would be the first thing to be wrong.
  auto load = [&] {
    Package message = addHashes(makePackage());
    message.mutable_libraries(0)->set_hash(hashContent(folder.read("p/kernels-test.so")));
    folder.write("p/package.pb", sealPackage(message.SerializeAsString()));
    LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
    return LoadedKernels::load(package, "").status().message();
  };
  std::string bytes = folder.read("p/kernels-test.so"), name = kernelTableSymbol;
  for (size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name))
    bytes[at] = 'M';
  folder.write("p/kernels-test.so", bytes);
  EXPECT_EQ(load(), path + " has no table of kernels, " + kernelTableSymbol);
  std::string narrow = bytes;
  narrow[4] = 1; // the class of 32 bits
  folder.write("p/kernels-test.so", narrow);
  EXPECT_EQ(load(), "the kernels cannot be loaded: " + path + " is no shared object of 64 bits");
  folder.write("p/kernels-test.so", bytes);
  std::filesystem::resize_file(path, size / 4);
  EXPECT_NE(load().find("the kernels cannot be loaded: " + path + " ends after"), std::string::npos) << load();
  std::filesystem::resize_file(path, 20);
  EXPECT_EQ(load(), "the kernels cannot be loaded: " + path + " has 20 bytes, too few for a shared object");
}

TEST(KernelLibraries, ExactKernelsAreForTheExactPackage) {
  TempFolder folder;
  Package message = makePackage();
  KernelLibrary *library = message.mutable_libraries(0);
  library->set_exact_scale(2);
  message.mutable_libraries()->DeleteSubrange(1, message.libraries_size() - 1);
  ASSERT_TRUE(writePackage(message, folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  EXPECT_EQ(LoadedKernels::load(package, "").status().message(),
            "the package has no kernels for this CPU; it has them for test (for --check-exact)");
  auto exact = package.createExact();
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  EXPECT_TRUE(exact->isExact());
  // These kernels compute with floats.
  EXPECT_EQ(LoadedKernels::load(*exact, "").status().message(),
            folder / "p/kernels-test.so" +
                " has no place for the functions of its kernels, meshwright_exact_functions");

  for (auto [scale, text] :
       {std::pair(3u, "the kernels of test have 3 bytes for each byte, which is none of 1, 2, 4 and 8"),
        std::pair(1u, "its kernels have 4 bytes for an element of f32, fewer than the 8 of a residue")}) {
    message.mutable_libraries(0)->set_exact_scale(scale);
    ASSERT_TRUE(writePackage(message, folder / "p"));
    EXPECT_EQ(LoadedPackage::open(folder / "p")->createExact().status().message(), text);
  }
  message.mutable_libraries(0)->set_exact_scale(0);
  ASSERT_TRUE(writePackage(message, folder / "p"));
  EXPECT_EQ(LoadedPackage::open(folder / "p")->createExact().status().message(),
            "the package has no kernels for an exact check; dist-opt makes them with \"exact\" among its targets");
  EXPECT_EQ(LoadedPackage::open(folder / "p")->createTwin().status().message(),
            "the package has no kernels for a twin of its serial program; dist-opt makes them with \"twin\" among its "
            "targets");
  message.mutable_libraries(0)->set_twin_scale(2);
  ASSERT_TRUE(writePackage(message, folder / "p"));
  LoadedPackage serial = std::move(*LoadedPackage::open(folder / "p"));
  EXPECT_EQ(LoadedKernels::load(serial, "").status().message(),
            "the package has no kernels for this CPU; it has them for test (for --check-serial)");
  auto twin = serial.createTwin();
  ASSERT_TRUE(twin.ok()) << twin.status().message();
  EXPECT_TRUE(twin->isTwin() && !twin->isExact());
  EXPECT_EQ(LoadedKernels::load(*twin, "").status().message(),
            folder / "p/kernels-test.so" + " has no place for the functions of its kernels, meshwright_twin_functions");
  // No file has residues.
  message.mutable_variables(0)->set_dtype(RESIDUE);
  ASSERT_TRUE(writePackage(message, folder / "p"));
  auto refused = LoadedPackage::open(folder / "p");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("element type 21 is unknown"), std::string::npos)
      << refused.status().message();
}
