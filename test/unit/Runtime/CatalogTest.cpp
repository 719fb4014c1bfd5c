//===- CatalogTest.cpp - the backends and devices of this build -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Catalog.h"
#include <gtest/gtest.h>
#include <set>

using namespace meshwright::runtime;

TEST(Catalog, GivesEveryBackendAndDeviceItsName) {
  std::vector<std::string_view> backends = getBackendNames(), devices = getDeviceNames();
  EXPECT_EQ(backends, (std::vector<std::string_view>{"inproc", "tcp", "mpi", "nccl", "onegpu"}));
  EXPECT_EQ(devices, (std::vector<std::string_view>{"cpu", "cuda"}));
  EXPECT_EQ(std::set(backends.begin(), backends.end()).size(), backends.size());
  for (const WorldKind *kind : getWorldKinds()) {
    EXPECT_EQ(findWorldKind(kind->name), kind);
    EXPECT_FALSE(kind->help.empty()) << kind->name;
  }
  for (const DeviceKind *kind : getDeviceKinds()) {
    EXPECT_EQ(findDeviceKind(kind->name), kind);
    EXPECT_FALSE(kind->help.empty()) << kind->name;
    for (const DeviceBackend &backend : kind->backends) {
      EXPECT_EQ(findDeviceKindOfBackend(backend.name), kind);
      EXPECT_EQ(kind->findBackend(backend.name), &backend);
    }
  }
}

TEST(Catalog, HasNothingByOtherNames) {
  for (std::string_view name : {"", "pigeon", "inpro", "inproc ", "INPROC", "nccl"})
    EXPECT_EQ(findWorldKind(name), nullptr) << name;
  for (std::string_view name : {"", "tpu", "CPU", "nccl"})
    EXPECT_EQ(findDeviceKind(name), nullptr) << name;
  for (std::string_view name : {"", "tcp", "cuda"})
    EXPECT_EQ(findDeviceKindOfBackend(name), nullptr) << name;
  EXPECT_EQ(openWorld("pigeon").status().message(), "there is no world \"pigeon\"; there are inproc, tcp and mpi");
}

TEST(Catalog, UsesTheFirstBackendOfAKindWithoutAName) {
  const DeviceKind *cuda = findDeviceKind("cuda");
  ASSERT_NE(cuda, nullptr);
  EXPECT_EQ(cuda->findBackend("")->name, "nccl");
  EXPECT_EQ(cuda->findBackend("tcp"), nullptr);
  EXPECT_EQ(findDeviceKind("cpu")->findBackend(""), nullptr);
}

TEST(Catalog, JoinsNamesAsInASentence) {
  std::vector<std::string_view> names = {"a", "b", "c"};
  EXPECT_EQ(joinNames(std::span(names).first(0)), "");
  EXPECT_EQ(joinNames(std::span(names).first(1)), "a");
  EXPECT_EQ(joinNames(std::span(names).first(2)), "a and b");
  EXPECT_EQ(joinNames(names), "a, b and c");
}
