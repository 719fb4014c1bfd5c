//===- JaxDerivativesTest.cpp - derivatives against JAX's and PyTorch's ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graphs that tools/dev/export/derivatives.py writes consist of many cases of all operations: random shapes and
// attributes, second uses, broadcasts, repeated positions, ties, sizes of 0. They are imported, differentiated and
// evaluated by the plain interpreter; every gradient is JAX's. An operation with a derivative that no graph leads to
// fails the test. The graph that torch_derivatives.py writes is the same for operations of PyTorch.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Interfaces.h"
#include "meshwright/Import/Import.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Train/Passes.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/lib/Evaluate/Safetensors.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace meshwright;
using evaluate::Tensor;

namespace {

class JaxDerivatives : public testing::Test {
protected:
  JaxDerivatives() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, net::NetDialect>();
    registerNetDerivatives(registry);
    registerNetFolds(registry);
    registerNetShifts(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  /// Compares what one graph, whose files begin with `start`, comes to.
  void check(const std::string &start);

  std::map<std::string, Tensor> read(const std::string &file) {
    auto tensors = evaluate::readSafetensors(file, &context);
    EXPECT_TRUE(static_cast<bool>(tensors)) << llvm::toString(tensors.takeError());
    return tensors ? *tensors : std::map<std::string, Tensor>();
  }

  MLIRContext context;
  /// The operations that gradients have passed.
  llvm::StringSet<> passed;
};

/// The names of the graphs, without `.mlir`.
std::set<std::string> findGraphs() {
  std::set<std::string> graphs;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(MESHWRIGHT_FIXTURES, error), end; file != end && !error;
       file.increment(error)) {
    StringRef name = llvm::sys::path::filename(file->path());
    if (name.consume_back(".mlir") && name.starts_with("derivatives-"))
      graphs.insert((MESHWRIGHT_FIXTURES "/" + name).str());
  }
  return graphs;
}

/// True if every element equals the expected one up to rounding; infinities and NaN have to match.
bool isClose(const Tensor &found, const Tensor &expected) {
  for (auto [left, right] : llvm::zip_equal(found.data, expected.data)) {
    bool isSame = left.f == right.f || (std::isnan(left.f) && std::isnan(right.f));
    if (!isSame && !(std::fabs(left.f - right.f) <= 1e-11 * std::max(1.0, std::fabs(right.f))))
      return false;
  }
  return true;
}

void JaxDerivatives::check(const std::string &start) {
  llvm::SourceMgr sources;
  std::string included;
  ASSERT_TRUE(sources.AddIncludeFile(start + ".mlir", llvm::SMLoc(), included));
  importer::Options importing;
  importing.parameters = {"p.*"};
  OwningOpRef<ModuleOp> module = importer::importGraph(sources, &context, importing);
  ASSERT_TRUE(module) << start;
  module->walk([&](net::DerivativeOpInterface op) { passed.insert(op->getName().getStringRef()); });
  PassManager passes(&context);
  passes.addPass(train::createDifferentiatePass());
  train::FetchPassOptions fetch;
  fetch.values.push_back("grad/*");
  passes.addPass(train::createFetchPass(fetch));
  ASSERT_TRUE(succeeded(passes.run(*module))) << start;
  FailureOr<evaluate::Program> program = evaluate::Program::create(*module);
  ASSERT_TRUE(succeeded(program));
  program->variables = read(start + ".init.safetensors");
  FailureOr<evaluate::Tensors> results = program->run({});
  ASSERT_TRUE(succeeded(results));
  std::map<std::string, Tensor> expected = read(start + ".gradients.safetensors");
  EXPECT_NEAR(results->front().data.front().f, expected.at("loss").data.front().f, 1e-10) << start;
  expected.erase("loss");
  func::FuncOp func = program->getFunction();
  for (unsigned index = 1; index < func.getNumResults(); ++index) {
    std::string name = net::kNameAttr.getOfResult(func, index).str();
    auto gradient = expected.find(name);
    ASSERT_TRUE(gradient != expected.end()) << name;
    EXPECT_TRUE(isClose((*results)[index], gradient->second)) << start << ": " << name;
    expected.erase(gradient);
  }
  // The gradient of a value without influence is absent.
  for (auto &[name, gradient] : expected)
    EXPECT_TRUE(isClose(Tensor(gradient.type), gradient)) << start << ": " << name << " is missing";
}

} // namespace

TEST_F(JaxDerivatives, agreeWithGradients) {
  for (const std::string &graph : findGraphs())
    check(graph);
  // JAX writes the logistic function as a quotient.
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<net::DerivativeOpInterface>() && name.getStringRef() != "net.logistic")
      EXPECT_TRUE(passed.contains(name.getStringRef()))
          << name.getStringRef().str() << " has a derivative but no case in tools/dev/export/derivatives.py";
}
