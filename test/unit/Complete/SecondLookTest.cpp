//===- SecondLookTest.cpp - annotations for another sweep -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Complete/SecondLook.h"
#include "GraphTest.h"
#include "Optimum.h"
#include "RandomProgram.h"
#include "lib/Complete/AxisSolver.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

/// One sweep over a program without annotations.
struct Swept {
  Swept(const Graph &graph, const Mesh &mesh)
      : problem(graph, mesh, 0, /*dataAxis=*/false, {}),
        notes{graph.given[0], llvm::SmallVector<llvm::SmallVector<State, 1>, 0>(graph.values.size())},
        sweep(problem, notes) {
    sweep.run();
  }

  AxisProblem problem;
  Annotations notes;
  AxisSweep sweep;
};

} // namespace

using SecondLookTest = GraphTest;

// Tests the bytes of whole plans against the count of the exhaustive search, and that no annotation is repeated: one
// that is followed leaves nothing to annotate at that value.
TEST_F(SecondLookTest, CountsBytes) {
  Random random(43);
  int64_t counted = 0, annotated = 0;
  for (int64_t round = 0; round < 200; ++round) {
    SCOPED_TRACE(random.describe(round));
    ProgramOptions options;
    options.numOps = random.pick(3, 8);
    Graph graph = build(makeProgram(random, options));
    Swept swept(graph, mesh);
    double bytes = getPlanBytes(graph, swept.sweep.plan, 2);
    if (std::isinf(bytes))
      continue;
    EXPECT_DOUBLE_EQ(countBytes(swept.problem, swept.sweep.plan), bytes);
    ++counted;
    if (!annotateSliced(swept.problem, swept.sweep, swept.notes))
      continue;
    ++annotated;
    swept.sweep.run();
    for (auto [value, given] : llvm::enumerate(swept.notes.given))
      if (given)
        EXPECT_EQ(swept.sweep.plan.values[value], *given);
  }
  EXPECT_GE(counted, 150);
  EXPECT_GE(annotated, 3);
}

// Tests that further looks only ever save bytes: without a value to annotate as sliced, a solved axis sends at most
// what its first sweep does, and on some programs less.
TEST_F(SecondLookTest, SavesBytes) {
  Random random(44);
  int64_t compared = 0;
  for (int64_t round = 0; round < 400; ++round) {
    SCOPED_TRACE(random.describe(round));
    ProgramOptions options;
    options.numOps = random.pick(4, 16);
    Graph graph = build(makeProgram(random, options));
    Swept swept(graph, mesh);
    if (annotateSliced(swept.problem, swept.sweep, swept.notes))
      continue;
    double first = countBytes(swept.problem, swept.sweep.plan);
    double last = countBytes(swept.problem, solveAxis(swept.problem));
    EXPECT_LE(last, first);
    ++compared;
  }
  EXPECT_GE(compared, 300);
}
