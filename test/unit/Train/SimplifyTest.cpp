//===- SimplifyTest.cpp - simplification changes no bit -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training steps of exported networks are evaluated as they are made and simplified: losses, gradients and variables
// are the same, bit for bit but for the sign of zero.
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

namespace {

class Simplify : public testing::TestWithParam<std::string> {
protected:
  Simplify() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, net::NetDialect>();
    registerNetDerivatives(registry);
    registerNetFolds(registry);
    registerNetShifts(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The training step, not simplified.
  OwningOpRef<ModuleOp> buildStep() {
    llvm::SourceMgr sources;
    std::string included;
    if (!sources.AddIncludeFile(MESHWRIGHT_FIXTURES "/" + GetParam() + ".mlir", llvm::SMLoc(), included))
      return {};
    importer::Options importing;
    importing.parameters = {"p.*"};
    OwningOpRef<ModuleOp> module = importer::importGraph(sources, &context, importing);
    train::OptimizerPassOptions optimizer;
    optimizer.train = "adamw {}";
    train::FetchPassOptions fetch;
    fetch.values.push_back("grad/*");
    PassManager passes(&context);
    passes.addPass(train::createDifferentiatePass());
    passes.addPass(train::createOptimizerPass(optimizer));
    passes.addPass(train::createFetchPass(fetch));
    return module && succeeded(passes.run(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
  }

  std::map<std::string, Tensor> read(const std::string &file) {
    return llvm::cantFail(
        evaluate::readSafetensors(MESHWRIGHT_FIXTURES "/reference/" + GetParam() + "/" + file, &context));
  }

  /// The outputs of one step and the variables after it.
  std::map<std::string, Tensor> run(ModuleOp module) {
    FailureOr<evaluate::Program> program = evaluate::Program::create(module);
    if (failed(program))
      return {};
    for (auto &[name, value] : read("init.safetensors"))
      program->variables[name] = value;
    func::FuncOp func = program->getFunction();
    auto batch = read("batch0.safetensors");
    evaluate::Tensors inputs;
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      inputs.push_back(batch[net::kNameAttr.getOfArgument(func, index).str()]);
    FailureOr<evaluate::Tensors> results = program->run(inputs);
    if (failed(results))
      return {};
    std::map<std::string, Tensor> values = program->variables;
    for (auto [index, result] : llvm::enumerate(*results))
      values["result " + std::to_string(index)] = result;
    return values;
  }

  MLIRContext context;
};

int64_t countOperations(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

} // namespace

TEST_P(Simplify, KeepsEveryBit) {
  OwningOpRef<ModuleOp> module = buildStep();
  ASSERT_TRUE(module);
  std::map<std::string, Tensor> before = run(*module);
  int64_t operations = countOperations(*module);
  for (auto func : module->getOps<func::FuncOp>())
    ASSERT_TRUE(succeeded(train::simplify(func)));
  EXPECT_LT(countOperations(*module), operations);
  std::map<std::string, Tensor> after = run(*module);
  ASSERT_GT(before.size(), 0U);
  ASSERT_EQ(before.size(), after.size());
  for (auto &[name, tensor] : before)
    for (int64_t at = 0; at < tensor.size(); ++at)
      ASSERT_TRUE(tensor.isFloat() ? tensor.data[at].f == after[name].data[at].f
                                   : tensor.data[at].i == after[name].data[at].i)
          << name << " at " << at;
}

INSTANTIATE_TEST_SUITE_P(Train, Simplify, testing::Values("mlp-tiny-f64", "gpt2-tiny-f64", "bert-tiny-f64"));
