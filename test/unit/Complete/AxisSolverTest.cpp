//===- AxisSolverTest.cpp - plans against all plans -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the bytes of plans for random programs with the optimum that Optimum.h finds by exhaustive search, checks
// that plans follow the sharding rules, and counts priced conversions to check that the solver is linear.
//
//===----------------------------------------------------------------------===//

#include "lib/Complete/AxisSolver.h"
#include "GraphTest.h"
#include "Optimum.h"
#include "RandomProgram.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/RuleCheck.h"
#include "dialects/Net/Net.h"
#include "meshwright/Complete/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

using AxisSolverTest = GraphTest;

/// A chain of linear operations on one partial value, which then has to be reduced.
std::string makePartialChain(int64_t length) {
  std::string body;
  for (int64_t op = 0; op < length; ++op)
    body += "%v" + std::to_string(op + 1) + " = net.negate %v" + std::to_string(op) + " : tensor<6xf32>\n";
  return "dist.mesh @mesh <[\"tp\" = 2]>\n"
         "func.func @f(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [[], [\"tp\"]]>}) -> tensor<6xf32> {\n"
         "%v0 = net.reduce sum %x dims = [1] : tensor<6x8xf32> -> tensor<6xf32>\n" +
         body + "%y = net.tanh %v" + std::to_string(length) + " : tensor<6xf32>\nreturn %y : tensor<6xf32>\n}\n";
}

/// The placements that attribute `name` of `op` states, resolved for `values`.
SmallVector<Placement> getPlacements(Operation *op, StringRef name, ValueRange values, const Mesh &mesh) {
  SmallVector<Placement> placements;
  auto mappings = op->getAttrOfType<ArrayAttr>(name);
  for (auto [index, value] : llvm::enumerate(values))
    placements.push_back(*Placement::resolve(cast<MappingAttr>(mappings[index]), mesh,
                                             cast<RankedTensorType>(value.getType()).getShape(),
                                             [&] { return op->emitError(); }));
  return placements;
}

} // namespace

// Tests that plans of small programs are close to the best of all plans. The programs are harder than networks: inputs
// are split at random, and nothing ties their splits to those of the weights. MESHWRIGHT_TEST_SHOW prints the worst.
TEST_F(AxisSolverTest, SendsFewBytes) {
  Random random(41);
  int64_t compared = 0, optimal = 0, free = 0;
  double worst = 1, sum = 0, sent = 0, fewest = 0;
  for (int64_t round = 0; round < 600; ++round) {
    SCOPED_TRACE(random.describe(round));
    ProgramOptions options;
    options.numOps = random.pick(3, 6);
    std::string text = makeProgram(random, options);
    Graph graph = build(text);
    double paid = getPlanBytes(graph, solveAxis(AxisProblem(graph, mesh, 0, /*dataAxis=*/false, {})), 2);
    if (std::isinf(paid)) // A weight split in a way that its product cannot follow has to move.
      continue;
    double best = findFewestBytes(graph, 0, 2, paid);
    ASSERT_LE(best, paid) << text;
    ++compared;
    sent += paid;
    fewest += best;
    optimal += paid == best;
    free += paid == 0;
    // Add a byte to both, since the optimum may be to send nothing.
    double ratio = (paid + 1) / (best + 1);
    sum += ratio;
    if (ratio > worst && std::getenv("MESHWRIGHT_TEST_SHOW"))
      llvm::errs() << "ratio " << ratio << "\n" << text;
    worst = std::max(worst, ratio);
  }
  std::cout << compared << " programs: " << optimal << " plans are the best (" << free << " send nothing); mean ratio "
            << sum / compared << ", worst " << worst << ", all bytes " << sent / fewest << " of the fewest\n";
  EXPECT_GE(compared, 500);
  EXPECT_GE(optimal, 0.8 * compared);
  EXPECT_LE(sent, 1.25 * fewest);
}

// Tests that on meshes of several axes every operation follows its rule on every axis: what is read and computed is
// judged against the rule by its own check, so that no partial value reaches an operation that it does not pass.
TEST_F(AxisSolverTest, FollowsTheRules) {
  Random random(42);
  int64_t split = 0, partial = 0;
  for (int64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE(random.describe(round));
    ProgramOptions options;
    options.axes = {"dp", "tp", "sp"};
    options.mesh = "\"dp\" = " + std::to_string(random.pick(1, 3)) + ", \"tp\" = " + std::to_string(random.pick(2, 3)) +
                   ", \"sp\" = 2";
    options.numOps = random.pick(4, 12);
    std::string text = makeProgram(random, options);
    if (random.chance(50))
      text.insert(text.find(">\n") + 1, " {dist.data_axes = [\"dp\"]}");
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    mesh = findMesh(*module).getMesh();
    PassManager manager(&context);
    buildPipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(*module))) << text;
    module->walk([&](Operation *op) {
      auto sharded = dyn_cast<ShardingOpInterface>(op);
      if (!sharded)
        return;
      auto computes = kComputesAttr.isOn(op) ? kComputesAttr : kResultsAttr;
      auto plans = checkRule(sharded.getShardingRule(), mesh, getPlacements(op, kOperandsAttr, op->getOperands(), mesh),
                             getPlacements(op, computes, op->getResults(), mesh), [&] { return op->emitError(); });
      ASSERT_TRUE(succeeded(plans)) << text;
      for (const dist::AxisPlan &plan : *plans) {
        split += plan.kind == dist::AxisPlan::Kind::SplitFactor;
        partial += plan.kind == dist::AxisPlan::Kind::Partial;
      }
    });
  }
  // The cases are not empty: operations were split, and partial values passed.
  EXPECT_GE(split, 1000);
  EXPECT_GE(partial, 15);
}

// Tests that the work grows as the program does.
TEST_F(AxisSolverTest, IsLinear) {
  auto countSteps = [&](int64_t blocks) {
    Graph graph = build(makeChain(blocks));
    AxisProblem problem(graph, mesh, 0, /*dataAxis=*/false, {});
    solveAxis(problem);
    return static_cast<double>(problem.getNumSteps()) / blocks;
  };
  double small = countSteps(200);
  EXPECT_LE(countSteps(400), 1.01 * small);
  EXPECT_LE(countSteps(800), 1.01 * small);
}

// Tests that a partial value that travels far neither overflows the stack nor is reduced more than once.
TEST_F(AxisSolverTest, ReducesOnceAfterALongWay) {
  Graph graph = build(makePartialChain(20000));
  EXPECT_EQ(getPlanBytes(graph, solveAxis(AxisProblem(graph, mesh, 0, /*dataAxis=*/false, {})), 2), 6 * 4);
}
