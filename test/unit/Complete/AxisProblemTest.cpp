//===- AxisProblemTest.cpp - the facts about one axis ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Complete/AxisProblem.h"
#include "GraphTest.h"
#include "Optimum.h"

using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;
using namespace meshwright::test;

using AxisProblemTest = GraphTest;

namespace {
constexpr const char *kProduct = R"(
dist.mesh @mesh <["dp" = 2, "tp" = 4]>
net.variable parameter @w : tensor<16x32xf32>
func.func @f(%x: tensor<8x16xf32>) -> tensor<8x32xf32> {
  %one = net.constant dense<1.0> : tensor<8x32xf32>
  %w = net.read @w : tensor<16x32xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %z = net.add %y, %one : tensor<8x32xf32>
  return %z : tensor<8x32xf32>
})";
} // namespace

// Tests the bytes of every conversion against the formulas of ring algorithms in Optimum.cpp.
TEST_F(AxisProblemTest, PricesConversions) {
  Graph graph = build(kProduct);
  AxisProblem problem(graph, mesh, 1, /*dataAxis=*/false, {});
  ValueIndex product = graph.ops[2].results.front();
  std::vector<State> states = {State::replicated(),    State::split(0, 8, 2),  State::split(1, 32, 8),
                               State::split(1, 16, 4), State::split(1, 32, 9), State::partial(ReduceKind::Sum)};
  for (const State &from : states)
    for (const State &to : states)
      if (from == to || !to.isPartial())
        EXPECT_EQ(problem.convertBytes(product, from, to), getRingBytes(8 * 32 * 4, from, to, 4));
  EXPECT_EQ(problem.getNumSteps(), 31);
}

// Tests that a split on an axis decided before leaves fewer bytes, and that splits of one dimension have to nest.
TEST_F(AxisProblemTest, RespectsOtherAxes) {
  Graph graph = build(kProduct);
  AxisPlan batch;
  batch.values.resize(graph.values.size());
  batch.operands.resize(graph.ops.size());
  batch.computes.resize(graph.ops.size());
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    batch.operands[index].resize(op.operands.size());
    batch.computes[index].resize(op.results.size());
  }
  ValueIndex product = graph.ops[2].results.front();
  batch.values[product] = State::split(0, 8, 4);
  std::pair<Axis, AxisPlan> done{0, batch};
  AxisProblem problem(graph, mesh, 1, /*dataAxis=*/false, done);
  EXPECT_EQ(problem.bytes[product], 8 * 32 * 4 / 2);
  EXPECT_TRUE(problem.fitsOthers(product, State::split(1, 32, 8)));
  EXPECT_TRUE(problem.fitsOthers(product, State::split(0, 4, 1)));
  EXPECT_FALSE(problem.fitsOthers(product, State::split(0, 8, 2)));
  // The split of the first dimension of the product follows that of its operand, and neither nests.
  EXPECT_FALSE(problem.splitByOperand(2, 0, State::split(0, 8, 2)));
  EXPECT_TRUE(problem.splitByOperand(2, 0, State::split(0, 4, 1)));
}

// Tests that constants are decided first and weights next, and that constants alone take any placement.
TEST_F(AxisProblemTest, PutsConstantsAndWeightsFirst) {
  Graph graph = build(kProduct);
  AxisProblem problem(graph, mesh, 1, /*dataAxis=*/false, {});
  EXPECT_EQ(std::vector<OpIndex>(problem.order.begin(), problem.order.end()), (std::vector<OpIndex>{0, 1, 2, 3, 4}));
  EXPECT_EQ(problem.numEarly, 2u);
  EXPECT_TRUE(problem.derived[graph.ops[0].results.front()]);
  EXPECT_FALSE(problem.derived[graph.ops[3].results.front()]);
}
