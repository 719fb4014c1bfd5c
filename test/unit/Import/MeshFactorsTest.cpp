//===- MeshFactorsTest.cpp - parts of axes, and XLA's shardings -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/StableHLO/MeshFactors.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace meshwright::importer;

namespace {

TEST(MeshFactors, DividesAnAxisWhereItsPartsEnd) {
  MeshFactors factors({16, 3});
  factors.add({0, 2, 4});
  factors.add({0, 1, 8});
  ASSERT_FALSE(factors.find());
  EXPECT_EQ(factors.getFactors(0u), (llvm::SmallVector<AxisPart>{{0, 1, 2}, {0, 2, 4}, {0, 8, 2}}));
  EXPECT_EQ(factors.getFactors(AxisPart{0, 1, 8}), (llvm::SmallVector<AxisPart>{{0, 1, 2}, {0, 2, 4}}));
  EXPECT_EQ(factors.getFactors(1u), (llvm::SmallVector<AxisPart>{{1, 1, 3}}));
}

TEST(MeshFactors, KeepsAnAxisOfSizeOne) {
  MeshFactors factors({1});
  ASSERT_FALSE(factors.find());
  EXPECT_EQ(factors.getFactors(0u), (llvm::SmallVector<AxisPart>{{0, 1, 1}}));
}

TEST(MeshFactors, FindsPartsWithoutCommonFactors) {
  MeshFactors factors({4, 6});
  factors.add({1, 1, 2});
  factors.add({1, 1, 3});
  EXPECT_EQ(factors.find(), 1u);
}

TEST(MeshFactors, ComparesPartsByTheirDigits) {
  EXPECT_TRUE(overlap({0, 1, 4}, {0, 2, 4}));
  EXPECT_FALSE(overlap({0, 1, 2}, {0, 2, 4}));
  EXPECT_FALSE(overlap({0, 1, 4}, {1, 1, 4}));
}

/// The index of the tile of `device` in one dimension, by the parts that split it.
int64_t getTile(llvm::ArrayRef<AxisPart> parts, int64_t device, int64_t devices) {
  int64_t tile = 0;
  for (const AxisPart &part : parts)
    tile = tile * part.size + device / (devices / (part.before * part.size)) % part.size;
  return tile;
}

/// Compares with what the text means: the device numbers in order, in the shape `sizes`, transposed, and read in the
/// shape `tiles`.
void compare(llvm::ArrayRef<int64_t> tiles, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> permutation,
             bool asList) {
  auto join = [](llvm::ArrayRef<int64_t> numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
  };
  int64_t devices = std::accumulate(tiles.begin(), tiles.end(), int64_t(1), std::multiplies<>());
  std::vector<int64_t> order;
  for (int64_t position = 0; position < devices; ++position) {
    llvm::SmallVector<int64_t> index(sizes.size());
    int64_t rest = position;
    for (size_t dim = sizes.size(); dim-- > 0;) {
      index[permutation[dim]] = rest % sizes[permutation[dim]];
      rest /= sizes[permutation[dim]];
    }
    int64_t device = 0;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      device = device * sizes[dim] + index[dim];
    order.push_back(device);
  }
  std::string text = "{devices=[" + join(tiles) + "]" +
                     (asList ? join(order) : "<=[" + join(sizes) + "]T(" + join(permutation) + ")") + "}";
  DeviceSharding sharding;
  auto problem = parseDeviceSharding(text, sharding);
  if (problem) {
    // A tile may end within a factor; a list is described wherever the shape before it is.
    EXPECT_EQ(*problem, "a tile ends within a factor of the devices") << text;
    return;
  }
  ASSERT_EQ(sharding.dims.size(), tiles.size()) << text;
  for (int64_t position = 0; position < devices; ++position) {
    int64_t rest = position;
    for (size_t dim = tiles.size(); dim-- > 0; rest /= tiles[dim])
      EXPECT_EQ(getTile(sharding.dims[dim], order[position], devices), rest % tiles[dim]) << text;
  }
}

TEST(DeviceSharding, MeansWhatTheOrderOfDevicesMeans) {
  std::mt19937 random(7);
  auto pick = [&](llvm::ArrayRef<int64_t> from) { return from[random() % from.size()]; };
  for (int round = 0; round < 300; ++round) {
    llvm::SmallVector<int64_t> sizes, tiles, permutation;
    for (unsigned dim = 0; dim < 1 + random() % 3; ++dim)
      sizes.push_back(pick({1, 2, 3, 4, 6}));
    permutation.resize(sizes.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    int64_t left = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    while (left > 1 && tiles.size() < 3) {
      int64_t tile = pick({1, 2, 3, 4});
      if (left % tile == 0) {
        tiles.push_back(tile);
        left /= tile;
      }
    }
    tiles.push_back(left);
    compare(tiles, sizes, permutation, round % 2 == 0);
  }
}

TEST(DeviceSharding, LeavesTheReplicatedTileOut) {
  DeviceSharding sharding;
  ASSERT_FALSE(
      parseDeviceSharding("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate metadata={op_name=\"x\"}}", sharding));
  ASSERT_EQ(sharding.dims.size(), 2u);
  EXPECT_TRUE(sharding.dims[0].empty());
  EXPECT_EQ(sharding.dims[1], (llvm::SmallVector<AxisPart>{{0, 2, 2}}));
  DeviceSharding manual;
  ASSERT_FALSE(parseDeviceSharding("{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}", manual));
  EXPECT_TRUE(manual.isManual);
  EXPECT_EQ(manual.dims.size(), 1u);
  DeviceSharding whole;
  EXPECT_FALSE(parseDeviceSharding("{replicated}", whole));
  EXPECT_FALSE(parseDeviceSharding(" {maximal device=3} ", whole));
  EXPECT_TRUE(whole.dims.empty());
}

TEST(DeviceSharding, SaysWhatItDoesNotRead) {
  std::pair<const char *, const char *> cases[] = {
      {"", "it begins with a brace"},
      {"{devices=}", "a list of tiles such as [2,1] follows \"devices=\""},
      {"{devices=[0]<=[0]}", "the number of its tiles is not between 1 and 1048576"},
      {"{devices=[2097152]<=[2097152]}", "the number of its tiles is not between 1 and 1048576"},
      {"{devices=[2]<=}", "sizes such as [4] or [2,2]T(1,0) follow \"<=\""},
      {"{devices=[4]<=[2,2]T(0,0)}", "T is no permutation of the sizes"},
      {"{devices=[2]0}", "it has 2 tiles, and a list of as many devices"},
      {"{devices=[2]<=[2] last_tile_dims={unknown}}",
       "its last tiles are of kinds other than \"replicated\" and \"manual\""},
      {"{maximal}", "\"device=0\" follows \"maximal\""},
      {"{replicated} and more", "text follows what is known"}};
  for (auto [text, problem] : cases) {
    DeviceSharding sharding;
    EXPECT_EQ(parseDeviceSharding(text, sharding).value_or(""), problem) << text;
  }
}

} // namespace
