//===- PlanTest.cpp - totals of plans made by hand ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan is data: sums over its conversions, programs and blocks are compared with numbers worked out by hand.
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/PlanTotals.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace meshwright;
using dist::AxisKind;

namespace {

/// Six ranks and four accumulated steps. All ranks reduce 100 bytes in pairs in each step; one pair of them exchanges
/// 60 bytes more, between nodes, in one of the steps; of three ranks one sends 90 bytes to another, once.
Plan makePlan() {
  Plan plan;
  plan.mesh = dist::Mesh({"dp", "tp", "accumulation"}, {2, 3, 4}, {AxisKind::Ranks, AxisKind::Ranks, AxisKind::Steps});
  auto add = [&](const char *kind, double bytes, int64_t group, int64_t participants, int64_t ranks, int64_t times,
                 int64_t nodes) {
    PlannedConversion &conversion = plan.conversions.emplace_back();
    conversion.kind = kind;
    conversion.bytes = bytes;
    conversion.group = group;
    conversion.participants = participants;
    conversion.ranks = ranks;
    conversion.times = times;
    conversion.nodes = nodes;
  };
  add("c_allreduce", 100, 2, 2, 6, 4, 1);
  add("c_allreduce", 60, 2, 2, 2, 1, 2);
  // The mean over its group of three is a third of what the sender sends.
  add("c_send", 30, 3, 2, 2, 1, 1);
  return plan;
}

TEST(Plan, TotalsAreMeansOverRanksAndSteps) {
  Plan plan = makePlan();
  auto totals = getTotals(plan);
  ASSERT_EQ(totals.size(), 2u);
  // 2 ranks of 6 send 60 bytes in one step of 4.
  double between = 60.0 * 2 / 6 / 4;
  EXPECT_EQ(totals["c_allreduce"].count, 2);
  EXPECT_DOUBLE_EQ(totals["c_allreduce"].bytes, 100 + between);
  EXPECT_DOUBLE_EQ(totals["c_allreduce"].bytesBetweenNodes, between);
  EXPECT_DOUBLE_EQ(totals["c_send"].bytes, 90.0 / 6 / 4);
  EXPECT_DOUBLE_EQ(totals["c_send"].bytesBetweenNodes, 0);
  EXPECT_EQ(getAccumulatedSteps(plan), 4);
}

TEST(Plan, TotalsOfAnAccumulationAreThoseOfItsSteps) {
  Plan plan = makePlan();
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out);
  json.object([&] { printTotals(json, plan); });
  auto parsed = llvm::json::parse(text);
  ASSERT_TRUE(static_cast<bool>(parsed)) << text;
  const llvm::json::Object &accumulation = *parsed->getAsObject()->getObject("accumulation");
  EXPECT_DOUBLE_EQ(*accumulation.getNumber("bytes"), 4 * 100 + 60.0 * 2 / 6 + 90.0 / 6);
  EXPECT_EQ(accumulation.getInteger("conversions"), 6);
  EXPECT_EQ(accumulation.getInteger("steps"), 4);
}

TEST(Plan, APlanWithoutStepsHasNoAccumulation) {
  Plan plan;
  plan.mesh = dist::Mesh({"dp"}, {2});
  EXPECT_EQ(getAccumulatedSteps(plan), std::nullopt);
  EXPECT_TRUE(getTotals(plan).empty());
}

TEST(Plan, BlocksHaveTheirHighestCosts) {
  Plan plan;
  for (int64_t rank : {0, 1}) {
    PlannedProgram &program = plan.programs.emplace_back();
    program.numRanks = 3 - rank;
    program.flops = 10;
    program.peakBytes = 100 + rank;
    program.blocks["h.0"] = {rank == 0 ? 5.0 : 7.0, rank == 0 ? 2.0 : 1.0, 40 - rank};
  }
  plan.programs.emplace_back().numRanks = 1;
  PlannedBlocks blocks = getBlocks(plan);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks["h.0"].forwardFlops, 7);
  EXPECT_EQ(blocks["h.0"].recomputeFlops, 2);
  EXPECT_EQ(blocks["h.0"].keptBytes, 40);
  EXPECT_EQ(getFlopsOfRanks(plan), 50);
  EXPECT_EQ(getPeakBytes(plan), 101);
}

} // namespace
