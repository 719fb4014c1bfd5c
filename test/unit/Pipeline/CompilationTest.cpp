//===- CompilationTest.cpp - the programs of a compilation ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs stage after stage and asks which programs there are, and what a search leaves. That the programs are
// right is for the tests that run them.
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Compilation.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "lib/Pipeline/PlanPrograms.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Pipeline/CompileModule.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>
#include <thread>

using namespace mlir;
using namespace meshwright;

namespace {

class CompilationTest : public ::testing::Test {
protected:
  CompilationTest() : context(MLIRContext::Threading::DISABLED) {
    DialectRegistry registry;
    registerAllDialects(registry);
    importer::registerSourceDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<dist::DistDialect>();
  }

  /// Runs the stages of the fixture gpt2-tiny up to Schedule, with a strategy for two data-parallel ranks and `more`.
  void compile(const std::string &more) {
    llvm::SourceMgr sources;
    auto file = llvm::MemoryBuffer::getFile(MESHWRIGHT_FIXTURES "/gpt2-tiny-f64.mlir");
    ASSERT_TRUE(static_cast<bool>(file));
    sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
    auto strategy = strategy::StrategyFile::parse(
        "mesh { axes { name: \"dp\" size: 2 } } data { axes: \"dp\" } model { parameters: \"p.*\" batch { inputs: "
        "\"ids\" } } " +
            more,
        "strategy", &context);
    ASSERT_TRUE(succeeded(strategy));
    options.emit = "a package that is not written";
    compilation.strategy = std::move(*strategy);
    ASSERT_TRUE(succeeded(compilation.strategy.check(0, &context)));
    compilation.programs.step = importer::parseGraph(sources, &context);
    ASSERT_TRUE(compilation.programs.step);
    for (Stage stage : {Stage::Import, Stage::Train, Stage::Annotate, Stage::Complete, Stage::Partition,
                        Stage::Optimize, Stage::Schedule})
      ASSERT_TRUE(succeeded(runStage(compilation, stage))) << stringifyStage(stage).str();
  }

  /// The number of operations of the network that `module` assigns to variables.
  static int64_t countAssignments(ModuleOp module) {
    int64_t count = 0;
    module.walk([&](net::AssignOp) { ++count; });
    return count;
  }

  MLIRContext context;
  StageOptions options;
  Compilation compilation{options, context};
};

constexpr const char *kTrain = "train { sgd { lr { constant: 0.1 } } ";

} // namespace

// Tests that the step and its serial program are scheduled, that nothing evaluates unless asked for, and that the plan
// tells of the ranks.
TEST_F(CompilationTest, AStepHasASerialProgram) {
  compile(std::string(kTrain) + "}");
  Programs &programs = compilation.programs;
  ASSERT_TRUE(programs.step && programs.serial);
  EXPECT_FALSE(programs.evaluation || programs.evaluationSerial);
  EXPECT_GT(countAssignments(*programs.step), 0);
  EXPECT_EQ(countAssignments(*programs.step), countAssignments(*programs.serial));
  EXPECT_FALSE(programs.step->getOps<dist::MeshOp>().empty());
  EXPECT_TRUE(programs.serial->getOps<dist::MeshOp>().empty());
  EXPECT_GT(compilation.plan.serialFlops, 0);
  EXPECT_FALSE(compilation.plan.conversions.empty());
}

// Tests that evaluation is a program of its own, serial and distributed, that assigns nothing.
TEST_F(CompilationTest, EvaluationAssignsNothing) {
  compile(std::string(kTrain) + "} eval { every: 2 }");
  ASSERT_TRUE(compilation.programs.evaluation && compilation.programs.evaluationSerial);
  EXPECT_EQ(countAssignments(*compilation.programs.evaluation), 0);
  EXPECT_GT(countAssignments(*compilation.programs.step), 0);
}

// Tests that the search for recomputation leaves the programs and the plan as if its choice had been compiled alone,
// and that the choice keeps the bound.
TEST_F(CompilationTest, ASearchLeavesOneCompilation) {
  compile(std::string(kTrain) + "}");
  addMemory(compilation.plan, *compilation.programs.step);
  int64_t unbounded = getPeakBytes(compilation.plan);
  size_t numConversions = compilation.plan.conversions.size();
  compilation.programs = Programs();
  compilation.plan = Plan();
  compile(std::string(kTrain) + "recompute { fit: " + std::to_string(unbounded - 1) + " } }");
  addMemory(compilation.plan, *compilation.programs.step);
  EXPECT_LT(getPeakBytes(compilation.plan), unbounded);
  EXPECT_EQ(compilation.plan.conversions.size(), numConversions);
  ASSERT_TRUE(compilation.programs.serial);
}

namespace {

/// Compiles the fixture in a context of its own, which only has the dialects registered, and returns the plan.
/// `problem` gets the first error.
std::string compileInMemory(const std::string &strategyText, std::string &problem) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && problem.empty())
      problem = diagnostic.str();
  });
  auto file = llvm::MemoryBuffer::getFile(MESHWRIGHT_FIXTURES "/gpt2-tiny-f64.mlir");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = importer::parseGraph(sources, &context);
  auto strategy = strategy::StrategyFile::parse(strategyText, "strategy", &context);
  if (!module || failed(strategy) || failed(strategy->check(0, &context)))
    return "";
  FailureOr<Compiled> compiled = compile(*module, *strategy);
  if (failed(compiled))
    return "";
  // The caller's module is as it was.
  EXPECT_TRUE(module->getOps<dist::MeshOp>().empty());
  EXPECT_FALSE((*compiled->step).getOps<dist::MeshOp>().empty());
  EXPECT_FALSE(compiled->explanation.empty());
  return compiled->plan;
}

constexpr const char *kModel = "model { parameters: \"p.*\" batch { inputs: \"ids\" } } ";
constexpr const char *kTwo = "mesh { axes { name: \"dp\" size: 2 } } data { axes: \"dp\" } ";

} // namespace

// Tests that contexts of two threads compile at the same time, each its own, and that an error leaves the next
// compilation as it would have been.
TEST(CompileModule, ContextsAreIndependent) {
  std::string none, error;
  std::string expected = compileInMemory(std::string(kTwo) + kModel + kTrain + "}", none);
  EXPECT_EQ(none, "");
  EXPECT_NE(expected.find("c_allreduce"), std::string::npos);
  EXPECT_EQ(compileInMemory(std::string(kTwo) + "model { parameters: \"q.*\" } " + kTrain + "}", error), "");
  EXPECT_NE(error, "");
  std::vector<std::string> plans(4), problems(4);
  std::vector<std::thread> threads;
  for (size_t index = 0; index != plans.size(); ++index)
    threads.emplace_back(
        [&, index] { plans[index] = compileInMemory(std::string(kTwo) + kModel + kTrain + "}", problems[index]); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &plan : plans)
    EXPECT_EQ(plan, expected);
}
