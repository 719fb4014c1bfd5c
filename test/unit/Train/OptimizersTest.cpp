//===- OptimizersTest.cpp - optimizers and schedules against optax --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers are those of tools/dev/export/optimizers.py: sum(sin(w)) in 8 steps.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Train/Passes.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/Evaluate/Safetensors.h"
#include "test/unit/Train/Gradients.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;
using evaluate::Tensor;

static const char *const kProgram = R"(
net.variable parameter @w : tensor<3xf64>
func.func @step() -> tensor<f64> {
  %w = net.read @w : tensor<3xf64>
  %s = net.sine %w : tensor<3xf64>
  %loss = net.reduce sum %s dims = [0] : tensor<3xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
)";

/// The optimizer, with the numbers that the script gives to all of its kind.
static Options makeOptions(OptimizerKind kind, ScheduleKind schedule) {
  Options options;
  OptimizerPassOptions &optimizer = options.optimizer;
  optimizer.kind = kind;
  optimizer.schedule = schedule;
  optimizer.lr = 0.1;
  optimizer.momentum = 0.75;
  optimizer.beta1 = 0.8;
  optimizer.beta2 = 0.9;
  optimizer.eps = 1e-3;
  optimizer.weightDecay = 0.5;
  optimizer.warmup = 3;
  if (schedule == ScheduleKind::WarmupCosine) {
    optimizer.warmup = 2;
    optimizer.total = 6;
    optimizer.lrStart = 0.01;
    optimizer.lrEnd = 0.02;
  }
  options.fetch.values.push_back("lr");
  return options;
}

static void check(const std::string &reference, const Options &options) {
  SCOPED_TRACE(reference);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kProgram, &getContext());
  PassManager passes(&getContext());
  buildPipeline(passes, options);
  ASSERT_TRUE(succeeded(passes.run(*module)));
  FailureOr<evaluate::Program> program = evaluate::Program::create(*module);
  ASSERT_TRUE(succeeded(program));
  auto tensors = evaluate::readSafetensors(MESHWRIGHT_FIXTURES "/reference/optimizers/" + reference + ".safetensors",
                                           &getContext());
  ASSERT_TRUE(static_cast<bool>(tensors)) << llvm::toString(tensors.takeError());
  const Tensor &values = tensors->at("w"), &rates = tensors->at("lr");
  Tensor w(RankedTensorType::get({3}, Float64Type::get(&getContext())));
  std::copy_n(values.data.begin(), 3, w.data.begin());
  program->variables["w"] = w;
  for (int64_t step = 0; step < rates.size(); ++step) {
    FailureOr<evaluate::Tensors> results = program->run({});
    ASSERT_TRUE(succeeded(results));
    EXPECT_NEAR((*results)[1].data[0].f, rates.data[step].f, 1e-15) << "step " << step;
    for (int64_t at = 0; at < 3; ++at)
      EXPECT_NEAR(program->variables["w"].data[at].f, values.data[3 * (step + 1) + at].f, 1e-13) << "step " << step;
  }
}

TEST(Optimizers, Sgd) {
  check("sgd", makeOptions(OptimizerKind::Sgd, ScheduleKind::Constant));
  check("sgd-warmup", makeOptions(OptimizerKind::Sgd, ScheduleKind::Warmup));
}

TEST(Optimizers, Momentum) {
  check("momentum", makeOptions(OptimizerKind::Momentum, ScheduleKind::Constant));
  Options options = makeOptions(OptimizerKind::Momentum, ScheduleKind::WarmupCosine);
  options.optimizer.nesterov = true;
  check("nesterov-warmup_cosine", options);
}

TEST(Optimizers, Adam) {
  check("adam-warmup", makeOptions(OptimizerKind::Adam, ScheduleKind::Warmup));
  check("adamw-warmup_cosine", makeOptions(OptimizerKind::AdamW, ScheduleKind::WarmupCosine));
}
