//===- PipelineBubbleTest.cpp - measured bubbles of pipelines -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels sleep by a clock that load does not touch, so that eight ranks wait as long as eight machines would. They say
// how long they slept; all else of a step is the bubble. Fill-drain and one-forward-one-backward have (p - 1) / m.
//
//===----------------------------------------------------------------------===//

#include "PipelineRun.h"
#include "VirtualTime.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;
using schedule::OrderKind;

/// The time that the ranks waited divided by the time that they worked, in one step.
static double measureBubble(PipelineRun &run, VirtualTime &time, int64_t ranks) {
  int64_t begin = time.now();
  Status status = run.session->step();
  double seconds = static_cast<double>(time.now() - begin) / 1000;
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
    VirtualTime time;
    PipelineRun run(makePipelinePackage(getOrder(kind, {ranks, microBatches}), {40}), folder / "p");
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_NEAR(measureBubble(run, time, ranks), expected, 1e-5) << schedule::getName(kind).str();
  }
}
