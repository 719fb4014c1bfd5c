//===- ReferenceTest.cpp - training steps against JAX and optax -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported losses are imported, differentiated and trained, and evaluated by the plain interpreter. Losses, gradients
// and parameters agree with what tools/dev/export/reference.py wrote, in f64.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Import.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Train/Passes.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/lib/Evaluate/Safetensors.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using evaluate::Tensor;

using Named = std::map<std::string, Tensor>;
static constexpr double kTolerance = 1e-11;

namespace {

struct Case {
  std::string network;
  std::string reference;
  /// The strategy's `train`: what tools/dev/export/reference.py gives to the optimizer.
  std::string train;
  double learningRate;
  /// The bound on the norm of the gradients; 0 for none.
  double bound = 0;
  /// Steps of the reference, whose batches are 5 over and over, and after how many its parameters were saved.
  int steps = 5, saved = 3;
};

Case makeLong(const std::string &network, const std::string &reference, const std::string &train, double rate) {
  return {network, reference, train, rate, 0, 20, 20};
}

std::ostream &operator<<(std::ostream &os, const Case &c) { return os << c.network << " " << c.reference; }

class Reference : public testing::TestWithParam<Case> {
protected:
  Reference() {
    registry.insert<func::FuncDialect, net::NetDialect>();
    registerNetDerivatives(registry);
    registerNetFolds(registry);
    registerNetShifts(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  Named read(const std::string &file) {
    auto tensors =
        evaluate::readSafetensors(MESHWRIGHT_FIXTURES "/reference/" + GetParam().network + "/" + file, &context);
    EXPECT_TRUE(static_cast<bool>(tensors)) << llvm::toString(tensors.takeError());
    return tensors ? *tensors : Named();
  }

  OwningOpRef<ModuleOp> buildStep() {
    llvm::SourceMgr sources;
    std::string included;
    if (!sources.AddIncludeFile(MESHWRIGHT_FIXTURES "/" + GetParam().network + ".mlir", llvm::SMLoc(), included))
      return {};
    importer::Options importing;
    importing.parameters = {"p.*"};
    OwningOpRef<ModuleOp> module = importer::importGraph(sources, &context, importing);
    train::Options options;
    options.optimizer.train = GetParam().train;
    options.fetch.values.push_back("grad/*");
    if (GetParam().bound > 0)
      options.fetch.values.push_back("grad_norm");
    PassManager passes(&context);
    train::buildPipeline(passes, options);
    if (!module || failed(passes.run(*module)))
      return {};
    return module;
  }

  /// The inputs of a step in the order of the function.
  evaluate::Tensors readBatch(func::FuncOp func, int step) {
    Named batch = read("batch" + std::to_string(step % 5) + ".safetensors");
    evaluate::Tensors inputs;
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      inputs.push_back(batch[net::kNameAttr.getOfArgument(func, index).str()]);
    return inputs;
  }

  DialectRegistry registry;
  MLIRContext context;
};

double norm(const Tensor &tensor) {
  double sum = 0;
  for (evaluate::Element element : tensor.data)
    sum += element.f * element.f;
  return std::sqrt(sum);
}

/// ‖found − expected‖ ≤ tolerance · max(‖expected‖, scale).
void expectClose(const std::string &name, const Tensor &found, const Tensor &expected, double scale) {
  ASSERT_EQ(found.type, expected.type) << name;
  Tensor difference = found;
  for (size_t at = 0; at < difference.data.size(); ++at)
    difference.data[at].f -= expected.data[at].f;
  EXPECT_LE(norm(difference), kTolerance * std::max(norm(expected), scale)) << name;
}

} // namespace

TEST_P(Reference, AgreesWithJax) {
  OwningOpRef<ModuleOp> module = buildStep();
  ASSERT_TRUE(module);
  FailureOr<evaluate::Program> program = evaluate::Program::create(*module);
  ASSERT_TRUE(succeeded(program));
  Named gradients = read("gradients.safetensors"), trained = read(GetParam().reference + ".safetensors");
  for (auto &[name, value] : read("init.safetensors"))
    program->variables[name] = value;
  func::FuncOp func = program->getFunction();

  double gradientNorm = 0;
  for (auto &[name, value] : gradients)
    if (name != "loss")
      gradientNorm = std::hypot(gradientNorm, norm(value));
  Tensor losses = trained.at("losses");
  trained.erase("losses");
  std::optional<Tensor> norms;
  if (auto found = trained.find("norms"); found != trained.end()) {
    norms = found->second;
    trained.erase(found);
  }
  // The norm is computed after all gradients.
  ASSERT_EQ(norms.has_value(), GetParam().bound > 0);
  unsigned numGradients = func.getNumResults() - 1 - norms.has_value();
  ASSERT_EQ(losses.size(), GetParam().steps);
  for (int step = 0; step < GetParam().steps; ++step) {
    FailureOr<evaluate::Tensors> results = program->run(readBatch(func, step));
    ASSERT_TRUE(succeeded(results));
    EXPECT_NEAR(results->front().data[0].f, losses.data[step].f, kTolerance * losses.data[step].f) << "step " << step;
    if (norms)
      EXPECT_NEAR(results->back().data[0].f, norms->data[step].f, kTolerance * norms->data[step].f) << "step " << step;
    if (step == 0) {
      ASSERT_EQ(numGradients + 1, gradients.size());
      for (unsigned index = 1; index <= numGradients; ++index) {
        std::string name = net::kNameAttr.getOfResult(func, index).str();
        expectClose(name, (*results)[index], gradients.at(name), 1e-3 * gradientNorm);
      }
    }
    if (step + 1 == GetParam().saved)
      for (auto &[name, value] : trained)
        expectClose(name, program->variables.at(name), value, GetParam().learningRate);
  }
}

// The rate stands twice: differences of parameters are measured by it.
#define RATE(NUMBER) "lr { constant: " #NUMBER " } "

static const char *const kAdamW = "adamw { " RATE(1e-3) "beta2: 0.95 weight_decay: 0.1 decay: '*.kernel' }";
static const char *const kLamb = "lamb { " RATE(1e-2) "beta2: 0.95 eps: 1e-6 weight_decay: 0.1 }";
static const char *const kAdafactor = "adafactor { " RATE(1e-2) "eps: 1e-10 min_dim: 12 weight_decay: 1e-3 }";
static const char *const kMuon = "muon { " RATE(1e-2) "eps: 1e-6 weight_decay: 0.1 adam_weight_decay: 0.05 }";
static const char *const kGroups = "adamw { " RATE(1e-3) "beta2: 0.95 weight_decay: 0.1 } "
                                                         "group { match: '*.bias' lr_scale: 2 weight_decay: 0 } "
                                                         "group { match: '*.layer0.*' sgd { " RATE(0.1) "} }";

INSTANTIATE_TEST_SUITE_P(
    Train, Reference,
    testing::Values(Case{"mlp-tiny-f64", "sgd", "sgd { " RATE(0.1) "}", 0.1},
                    Case{"mlp-tiny-f64", "clip", "sgd { " RATE(0.1) "} clip { global_norm: 0.3 }", 0.1, 0.3},
                    Case{"gpt2-tiny-f64", "clip", "sgd { " RATE(0.1) "} clip { global_norm: 1.2 }", 0.1, 1.2},
                    Case{"mlp-tiny-f64", "momentum", "momentum { " RATE(0.1) "}", 0.1},
                    Case{"mlp-tiny-f64", "adam", "adam { " RATE(1e-3) "beta2: 0.95 }", 1e-3},
                    Case{"mlp-tiny-f64", "adamw", kAdamW, 1e-3},
                    Case{"gpt2-tiny-f64", "sgd", "sgd { " RATE(0.1) "}", 0.1},
                    Case{"gpt2-tiny-f64", "adamw", kAdamW, 1e-3}, Case{"bert-tiny-f64", "adamw", kAdamW, 1e-3}));

INSTANTIATE_TEST_SUITE_P(
    Long, Reference,
    testing::Values(makeLong("mlp-tiny-f64", "lion", "lion { " RATE(1e-3) "beta2: 0.95 weight_decay: 0.1 }", 1e-3),
                    makeLong("mlp-tiny-f64", "lamb", kLamb, 1e-2),
                    makeLong("mlp-tiny-f64", "rmsprop", "rmsprop { " RATE(1e-3) "momentum: 0.9 }", 1e-3),
                    makeLong("mlp-tiny-f64", "adagrad", "adagrad { " RATE(1e-2) "}", 1e-2),
                    makeLong("mlp-tiny-f64", "adafactor", kAdafactor, 1e-2),
                    makeLong("mlp-tiny-f64", "muon", kMuon, 1e-2),
                    makeLong("mlp-tiny-f64", "l2",
                             "adam { " RATE(1e-3) "beta2: 0.95 l2: 0.05 nesterov: true } ema { decay: 0.9 }", 1e-3),
                    makeLong("mlp-tiny-f64", "groups", kGroups, 1e-3),
                    makeLong("mlp-tiny-f64", "clip-value", "sgd { " RATE(0.1) "} clip { value: 0.01 }", 0.1),
                    makeLong("mlp-tiny-f64", "clip-tensor", "sgd { " RATE(0.1) "} clip { tensor_norm: 0.1 }", 0.1),
                    makeLong("gpt2-tiny-f64", "lamb", kLamb, 1e-2),
                    makeLong("gpt2-tiny-f64", "adafactor", kAdafactor, 1e-2),
                    makeLong("gpt2-tiny-f64", "muon", kMuon, 1e-2)));
