//===- OptimizersTest.cpp - optimizers and schedules against optax --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers are those of tools/dev/export/optimizers.py: sum(sin(w)) in 8 steps.
//
//===----------------------------------------------------------------------===//

#include "lib/Train/Optimizers/Optimizers.h"
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

static const char *const kConstant = "constant: 0.1";
static const char *const kWarmup = "warmup { peak: 0.1 steps: 3 }";
static const char *const kWarmupCosine = "warmup_cosine { peak: 0.1 warmup: 2 total: 6 start: 0.01 end: 0.02 }";
static const char *const kMoments = "beta1: 0.8 beta2: 0.9 eps: 1e-3 ";

/// The optimizer with these settings and this learning rate.
static Options makeOptions(const std::string &optimizer, const std::string &settings, const std::string &rate) {
  Options options;
  options.optimizer.train = optimizer + " { " + settings + " lr { " + rate + " } }";
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
  check("sgd", makeOptions("sgd", "", kConstant));
  check("sgd-warmup", makeOptions("sgd", "", kWarmup));
}

TEST(Optimizers, Momentum) {
  check("momentum", makeOptions("momentum", "momentum: 0.75", kConstant));
  check("nesterov-warmup_cosine", makeOptions("momentum", "momentum: 0.75 nesterov: true", kWarmupCosine));
}

TEST(Optimizers, Adam) {
  check("adam-warmup", makeOptions("adam", kMoments, kWarmup));
  check("adamw-warmup_cosine", makeOptions("adamw", std::string(kMoments) + "weight_decay: 0.5", kWarmupCosine));
}

/// The message of every optimizer is in the table, and has the fields that all optimizers share.
TEST(Optimizers, AreAllInTheTable) {
  for (const auto *owner : {strategy::Train::descriptor(), strategy::ParameterGroup::descriptor()}) {
    const auto *choice = owner->FindOneofByName("optimizer");
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->field_count(), strategy::Train::descriptor()->FindOneofByName("optimizer")->field_count());
    for (int index = 0; index < choice->field_count(); ++index) {
      const auto *message = choice->field(index)->message_type();
      EXPECT_TRUE(findOptimizer(message)) << message->name() << " is not in lib/Train/Optimizers/Optimizers.cpp";
      for (const char *field : {"lr", "decay"})
        EXPECT_TRUE(message->FindFieldByName(field)) << message->name() << " has no " << field;
    }
  }
}
