//===- StagesTest.cpp - stages of random networks -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In every network, values of forward flow to equal or later stages, values of backward to equal or earlier
// ones, and variables are where forward reads them first.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "lib/Annotate/StagePartition.h"
#include "meshwright/Annotate/Passes.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using test::Random;

namespace {

/// Writes a loss that goes through layers of products, activations, sums and gains, with operations between the layers,
/// values that pass over layers, and weights that several layers have.
class NetworkWriter {
public:
  explicit NetworkWriter(Random &random) : random(random) {}

  std::string write(int64_t layers);

private:
  /// Adds an operation of the current layer and returns its result.
  std::string add(const std::string &text) {
    std::string result = "%v" + std::to_string(numValues++);
    std::string attributes = layer < 0 ? "" : " {net.scope = \"net.layer" + std::to_string(layer) + "\"}";
    body +=
        result + " = " + text.substr(0, text.find('|')) + attributes + " : " + text.substr(text.find('|') + 1) + "\n";
    values.push_back(result);
    return result;
  }
  std::string addWeight(const std::string &type);
  std::string addProduct(const std::string &x);
  std::string addRandom(const std::string &x);

  Random &random;
  int64_t layer = -1, numValues = 0;
  std::string variables, reads, body;
  std::vector<std::string> values, weights;
};

} // namespace

std::string NetworkWriter::addWeight(const std::string &type) {
  std::string name = "p.w" + std::to_string(numValues++) + "x";
  variables += "net.variable parameter @" + name + " : " + type + "\n";
  reads += "%" + name + " = net.read @" + name + " : " + type + "\n";
  return "%" + name;
}

std::string NetworkWriter::addProduct(const std::string &x) {
  if (weights.empty() || random.chance(80))
    weights.push_back(addWeight("tensor<4x4xf32>"));
  return add("net.dot " + x + ", " + (random.chance(80) ? weights.back() : random.choose(weights)) +
             " batch = [] x [] contract = [1] x [0]|tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>");
}

std::string NetworkWriter::addRandom(const std::string &x) {
  switch (random.pick(0, 4)) {
  case 0:
    return add("net.tanh " + x + "|tensor<8x4xf32>");
  case 1:
    return add("net.add " + x + ", " + random.choose(values) + "|tensor<8x4xf32>");
  case 2:
    return add("net.multiply " + x + ", " + random.choose(values) + "|tensor<8x4xf32>");
  case 3:
    return add("net.add " + x + ", %input|tensor<8x4xf32>");
  default: {
    std::string gain =
        add("net.broadcast " + addWeight("tensor<4xf32>") + " dims = [1]|tensor<4xf32> -> tensor<8x4xf32>");
    values.pop_back();
    return add("net.multiply " + x + ", " + gain + "|tensor<8x4xf32>");
  }
  }
}

std::string NetworkWriter::write(int64_t layers) {
  std::string x = addProduct("%input");
  for (int64_t next = 0; next < layers; ++next) {
    layer = next;
    x = addProduct(x);
    for (int64_t count = random.pick(0, 3); count > 0; --count)
      x = addRandom(x);
    layer = -1;
    for (int64_t count = random.pick(0, 2); count > 0; --count)
      x = addRandom(x);
  }
  return variables + "func.func @step(%input: tensor<8x4xf32> {net.name = \"x\"}) -> tensor<f32> {\n" + reads + body +
         "%loss = net.reduce sum " + x +
         " dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>\nreturn %loss : tensor<f32>\n}\n";
}

//===----------------------------------------------------------------------===//
// Properties of every network
//===----------------------------------------------------------------------===//

namespace {

class StagesTest : public ::testing::Test {
protected:
  StagesTest() {
    DialectRegistry registry;
    registry.insert<net::NetDialect, func::FuncDialect>();
    registerNetDerivatives(registry);
    registerNetFolds(registry);
    registerNetShifts(registry);
    registerNetCosts(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void train(ModuleOp module, bool narrow);
  void annotate(ModuleOp module, int64_t layers, int64_t ranks, int64_t chunks);
  void checkFlow(Operation &op);
  void checkLayer(Operation &op, ArrayRef<int64_t> firsts);
  void checkVariables(ModuleOp module, int64_t ranks);

  static std::optional<int64_t> getStage(Operation *op) {
    auto stage = op ? kStageAttr.get(op) : IntegerAttr();
    return stage ? std::optional(stage.getInt()) : std::nullopt;
  }
  static bool isBackward(Operation *op) { return net::getRole(op) == net::Role::Backward; }

  MLIRContext context;
  int64_t numMoved = 0, numTied = 0;
};

} // namespace

void StagesTest::train(ModuleOp module, bool narrow) {
  train::Options options;
  options.optimizer.train = "adamw {} clip { global_norm: 1 }";
  if (narrow)
    options.precision.compute = train::ComputeType::BF16;
  PassManager passes(&context);
  train::buildPipeline(passes, options);
  ASSERT_TRUE(succeeded(passes.run(module)));
}

void StagesTest::annotate(ModuleOp module, int64_t layers, int64_t ranks, int64_t chunks) {
  std::string text =
      "mesh { axes { name: \"pp\" size: " + std::to_string(ranks) +
      " } } model { batch { inputs: \"x\" } } train {} pipeline { axis: \"pp\" micro_batches: 4 chunks: " +
      std::to_string(chunks) + (chunks > 1 ? " schedule: BREADTH_FIRST }" : " }");
  auto file = strategy::StrategyFile::parse(text, "<strategy>", &context);
  ASSERT_TRUE(succeeded(file) && succeeded(file->check(0, &context)));
  ASSERT_TRUE(succeeded(annotate::annotate(module, *file)));
}

/// Values flow forward to later stages and backward to earlier ones, and have one where they depend on a variable.
void StagesTest::checkFlow(Operation &op) {
  std::optional<int64_t> stage = getStage(&op);
  bool isOfUpdate = op.getNumResults() == 0 || net::getRole(&op) == net::Role::Optimize;
  if (isOfUpdate)
    EXPECT_FALSE(stage);
  for (Value operand : op.getOperands()) {
    std::optional<int64_t> made = getStage(operand.getDefiningOp());
    if (!made || isOfUpdate)
      continue;
    ASSERT_TRUE(stage) << "an operation on a value with a stage has none";
    if (!isBackward(&op)) {
      EXPECT_FALSE(isBackward(operand.getDefiningOp()));
      EXPECT_LE(*made, *stage);
    } else if (isBackward(operand.getDefiningOp())) {
      EXPECT_GE(*made, *stage);
    }
  }
}

/// Products are of the stage of their layer; the rest may leave it.
void StagesTest::checkLayer(Operation &op, ArrayRef<int64_t> firsts) {
  auto scope = net::kScopeAttr.get(&op);
  int64_t layer;
  if (!scope || scope.getValue().drop_front(StringRef("net.layer").size()).getAsInteger(10, layer) || !getStage(&op))
    return;
  int64_t expected = llvm::upper_bound(firsts, layer) - firsts.begin() - 1;
  if (isa<net::DotOp>(op) && !isBackward(&op))
    EXPECT_EQ(getStage(&op), expected);
  numMoved += getStage(&op) != expected;
}

/// A variable is on the coordinate of the first stage that forward reads it in, with its state.
void StagesTest::checkVariables(ModuleOp module, int64_t ranks) {
  llvm::StringMap<int64_t> holders;
  module.walk([&](net::ReadOp read) {
    std::optional<int64_t> stage = getStage(read), first, last;
    if (!stage)
      return;
    for (Operation *user : read->getUsers())
      if (std::optional<int64_t> used = getStage(user); used && !isBackward(user)) {
        first = std::min(first.value_or(*used), *used);
        last = std::max(last.value_or(*used), *used);
      }
    EXPECT_EQ(stage, first);
    numTied += first != last;
    holders[read.getVariable()] = *stage % ranks;
  });
  for (auto variable : module.getOps<net::VariableOp>()) {
    auto holder = holders.find(variable.getLike().value_or(variable.getSymName()));
    auto mapping = kMappingAttr.get(variable);
    ASSERT_EQ(holder != holders.end(), static_cast<bool>(mapping)) << variable.getSymName().str();
    if (mapping) {
      EXPECT_EQ(cast<DenseI64ArrayAttr>(mapping.getSupport().get("pp")).asArrayRef(), ArrayRef(holder->second));
    }
  }
}

TEST_F(StagesTest, RandomNetworks) {
  Random random(2);
  for (int64_t round = 0; round < 150; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t layers = random.pick(2, 6), chunks = layers >= 4 ? random.pick(1, 2) : 1;
    int64_t ranks = random.pick(2, layers / chunks);
    std::string text = NetworkWriter(random).write(layers);
    SCOPED_TRACE(text);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    train(*module, random.chance(50));
    annotate(*module, layers, ranks, chunks);
    SmallVector<int64_t> firsts = annotate::cutEvenly(layers, ranks * chunks);
    for (auto func : module->getOps<func::FuncOp>())
      for (Operation &op : func.getBody().front()) {
        checkFlow(op);
        checkLayer(op, firsts);
      }
    checkVariables(*module, ranks);
    if (HasFailure())
      return;
  }
  EXPECT_GT(numMoved, 100);
  EXPECT_GT(numTied, 10);
}
