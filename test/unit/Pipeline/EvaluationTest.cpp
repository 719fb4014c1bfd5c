//===- EvaluationTest.cpp - evaluation beside training --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Evaluation.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshwright;

namespace {

/// A module that keeps its only variable on stage `stage` of two, and reads it.
std::string makeModule(int stage) {
  return "dist.mesh @mesh <[\"pp\" = 2]>\n"
         "net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {\"pp\" = [" +
         std::to_string(stage) +
         "]}>}\nfunc.func @f() -> tensor<4xf32> {\n%w = net.read @w : tensor<4xf32>\nreturn %w : tensor<4xf32>\n}\n";
}

} // namespace

// Tests that evaluation cannot read a variable on another stage than that on which training keeps it.
TEST(Evaluation, StagesAreThoseOfTraining) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, dist::DistDialect, net::NetDialect>();
  auto strategy = strategy::StrategyFile::parse("mesh { axes { name: \"pp\" size: 2 } } model { batch { inputs: \"x\" "
                                                "} } train {} pipeline { axis: \"pp\" micro_batches: 2 }",
                                                "s", &context);
  ASSERT_TRUE(succeeded(strategy) && succeeded(strategy->check(0, &context)));
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  for (int stage : {0, 1}) {
    OwningOpRef<ModuleOp> training = parseSourceString<ModuleOp>(makeModule(0), &context);
    OwningOpRef<ModuleOp> evaluation = parseSourceString<ModuleOp>(makeModule(stage), &context);
    ASSERT_TRUE(training && evaluation);
    EXPECT_EQ(succeeded(keepAsTrained(*evaluation, *training, *strategy)), stage == 0);
  }
  EXPECT_TRUE(StringRef(message).starts_with("evaluation and training have w in different stages, on ")) << message;
}
