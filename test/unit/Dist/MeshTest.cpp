//===- MeshTest.cpp - ranks and coordinates -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Times.h"
#include <gtest/gtest.h>

using namespace meshwright::dist;

namespace {

// Tests that the first axis is the slowest: ranks count up along the last one.
TEST(Mesh, numbersRanksWithTheFirstAxisSlowest) {
  Mesh mesh({"pp", "dp", "tp"}, {2, 3, 4});
  ASSERT_EQ(mesh.getNumRanks(), 24);
  int64_t rank = 0;
  for (int64_t pp = 0; pp < 2; ++pp)
    for (int64_t dp = 0; dp < 3; ++dp)
      for (int64_t tp = 0; tp < 4; ++tp, ++rank) {
        EXPECT_EQ(mesh.getCoordinate(rank, 0), pp);
        EXPECT_EQ(mesh.getCoordinate(rank, 1), dp);
        EXPECT_EQ(mesh.getCoordinate(rank, 2), tp);
        EXPECT_EQ(mesh.getRank({pp, dp, tp}), rank);
      }
}

// Tests that times come one after the other on the same ranks: they make no more ranks and move none.
TEST(Mesh, doesNotCountTimesAsRanks) {
  using enum AxisKind;
  Mesh mesh({"dp", "tp", "micro", "accumulation"}, {2, 3, 5, 7}, {Ranks, Ranks, Slices, Steps});
  EXPECT_EQ(mesh.getNumAxes(), 4u);
  EXPECT_EQ(mesh.getNumRankAxes(), 2u);
  EXPECT_EQ(mesh.getNumRanks(), 6);
  EXPECT_EQ(mesh.find(Slices), Axis{2});
  EXPECT_EQ(mesh.find(Steps), Axis{3});
  EXPECT_EQ(mesh.getGroupSize({0, 2}), 10);
  for (int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(mesh.getCoordinate(rank, 0), rank / 3);
    EXPECT_EQ(mesh.getCoordinate(rank, 1), rank % 3);
    EXPECT_EQ(mesh.getCoordinate(rank, 3), 0);
    EXPECT_EQ(mesh.getRank({rank / 3, rank % 3, 4, 6}), rank);
  }
  EXPECT_EQ(Mesh({"accumulation"}, {4}, {Steps}).getNumRanks(), 1);
}

TEST(Mesh, joinsAxesOfTimesToThoseOfRanks) {
  Mesh ranks({"dp", "tp"}, {2, 3}), steps({"accumulation"}, {4}, {AxisKind::Steps});
  EXPECT_EQ(joinAxes(ranks, steps),
            Mesh({"dp", "tp", "accumulation"}, {2, 3, 4}, {AxisKind::Ranks, AxisKind::Ranks, AxisKind::Steps}));
  EXPECT_EQ(joinAxes(Mesh(), steps), steps);
}

TEST(Mesh, findsAxesByName) {
  Mesh mesh({"dp", "tp"}, {2, 4});
  EXPECT_EQ(mesh.find("dp"), Axis{0});
  EXPECT_EQ(mesh.find("tp"), Axis{1});
  EXPECT_EQ(mesh.find("sp"), std::nullopt);
}

TEST(Mesh, multipliesTheSizesOfAGroup) {
  Mesh mesh({"pp", "dp", "tp"}, {2, 3, 4});
  EXPECT_EQ(mesh.getGroupSize({}), 1);
  EXPECT_EQ(mesh.getGroupSize({1}), 3);
  EXPECT_EQ(mesh.getGroupSize({0, 2}), 8);
}

// Tests that a mesh without axes is one rank, which is what a serial program runs on.
TEST(Mesh, withoutAxesIsOneRank) {
  Mesh mesh;
  EXPECT_EQ(mesh.getNumRanks(), 1);
  EXPECT_EQ(mesh.getRank({}), 0);
}

} // namespace
