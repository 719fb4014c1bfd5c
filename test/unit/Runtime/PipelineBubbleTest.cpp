//===- PipelineBubbleTest.cpp - how long ranks wait -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that sleep take no core, so that eight ranks on a laptop wait as long as eight machines would. They say how
// long they slept; all else of a step is the bubble. Fill-drain and one-forward-one-backward have (p - 1) / m.
//
//===----------------------------------------------------------------------===//

#include "PipelineRun.h"
#include <chrono>
#include <cmath>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;
using schedule::OrderKind;

/// What the ranks waited over what they worked, in one step.
static double measureBubble(PipelineRun &run, int64_t ranks) {
  auto begin = std::chrono::steady_clock::now();
  Status status = run.session->step();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_TRUE(status.ok()) << status.message();
  double busy = 0;
  for (int64_t rank = 0; rank != ranks; ++rank)
    busy += run.get(fmt::format("busy{}", rank));
  return (static_cast<double>(ranks) * seconds - busy) / busy;
}

TEST(PipelineBubble, IsThatOfTheOrder) {
  constexpr int64_t ranks = 8, microBatches = 8;
  constexpr double expected = double(ranks - 1) / microBatches;
  for (OrderKind kind : {OrderKind::FillDrain, OrderKind::OneForwardOneBackward}) {
    TempFolder folder;
    PipelineRun run(makePipelinePackage(getOrder(kind, {ranks, microBatches}), {40}), folder / "p");
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    // Who else uses the machine makes it longer, and the order alone makes it no shorter.
    double least = INFINITY;
    for (int attempt = 0; attempt != 6 && least > 1.05 * expected; ++attempt)
      least = std::min(least, measureBubble(run, ranks));
    EXPECT_NEAR(least, expected, 0.05 * expected) << schedule::getName(kind).str();
    RecordProperty(schedule::getName(kind).str(), std::to_string(least));
  }
}
