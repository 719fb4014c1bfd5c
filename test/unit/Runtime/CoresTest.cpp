//===- CoresTest.cpp - limits of control groups ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Cores.h"
#include "TempFolder.h"
#include <gtest/gtest.h>

using namespace meshwright::runtime;
using namespace meshwright::test;

TEST(Cores, LeastLimitAroundTheGroup) {
  TempFolder root;
  std::filesystem::create_directories(root / "a/b");
  EXPECT_EQ(readCoreLimit(root / "", "0::/a/b\n"), std::nullopt);
  root.write("a/b/cpu.max", "400000 100000\n");
  root.write("cpu.max", "max 100000\n");
  EXPECT_EQ(readCoreLimit(root / "", "0::/a/b\n"), 4.0);
  root.write("a/cpu.max", "150000 100000\n");
  EXPECT_EQ(readCoreLimit(root / "", "0::/a/b\n"), 1.5);
  EXPECT_EQ(readCoreLimit(root / "", "0::/a\n"), 1.5);
  EXPECT_EQ(readCoreLimit(root / "", "0::/\n"), std::nullopt);
}

TEST(Cores, ContainerSeesItsGroupAsTheRoot) {
  TempFolder root;
  root.write("cpu.max", "200000 100000\n");
  EXPECT_EQ(readCoreLimit(root / "", "0::/docker/f00\n"), 2.0);
}

TEST(Cores, FirstVersion) {
  TempFolder root;
  std::filesystem::create_directories(root / "cpu/docker");
  root.write("cpu/cpu.cfs_quota_us", "-1\n");
  root.write("cpu/cpu.cfs_period_us", "100000\n");
  const char *membership = "5:memory:/docker\n4:cpu,cpuacct:/docker\n3:cpuset:/\n0::/\n";
  EXPECT_EQ(readCoreLimit(root / "", membership), std::nullopt);
  root.write("cpu/docker/cpu.cfs_quota_us", "300000\n");
  root.write("cpu/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(readCoreLimit(root / "", membership), 3.0);
}

TEST(Cores, TextThatMeansNothing) {
  TempFolder root;
  for (const char *text : {"", "max", "0 100000", "100000 0", "-5 100000", "many 100000"}) {
    root.write("cpu.max", text);
    EXPECT_EQ(readCoreLimit(root / "", "0::/\n"), std::nullopt) << text;
  }
  root.write("cpu.max", "100000 100000");
  for (const char *membership : {"", "0", "0:", "7:cpuset:/\n", ":::"})
    EXPECT_EQ(readCoreLimit(root / "", membership), std::nullopt) << membership;
}

TEST(Cores, AtLeastOne) { EXPECT_GE(getNumCores(), 1u); }
