//===- RandomSlicesTest.cpp - slices of a batch equal the whole -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small networks, one or two inputs of which are cut in slices and split over ranks. What completion accepts is
// partitioned, run on all ranks slice by slice, and compared with the serial network on the whole batch; what it does
// not accept has to be refused with a message. MESHWRIGHT_TEST_CASES says how many (600 if it is not set).
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Partition/CompareSteps.h"
#include "test/unit/Partition/RandomNetwork.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

class RandomSlices : public ::testing::Test {
protected:
  RandomSlices() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, DistDialect, net::NetDialect>();
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
  }

  void addGain(ModuleOp module);
  void addSums(Random &random, ModuleOp module);
  bool cut(Random &random, ModuleOp module);
  bool complete(ModuleOp module);
  void count(ModuleOp module);
  void check(Random &random);

  MLIRContext context;
  int64_t compared = 0, refused = 0, accumulated = 0, collected = 0, early = 0;
};

/// Multiplies inputs of floats by a variable: what is made of them is then no more made of inputs alone.
void RandomSlices::addGain(ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  auto type = RankedTensorType::get({}, Float64Type::get(&context));
  OpBuilder builder(func);
  net::VariableOp::create(builder, func.getLoc(), net::VariableKind::Parameter, "gain", type, net::InitializerAttr(),
                          FlatSymbolRefAttr());
  builder.setInsertionPointToStart(&func.getBody().front());
  Value gain = net::ReadOp::create(builder, func.getLoc(), type, "gain").getResult();
  net::NetBuilder build(builder, func.getLoc());
  for (BlockArgument argument : func.getArguments()) {
    if (net::elementTypeOf(argument) != type.getElementType())
      continue;
    Value scaled = build.multiply(argument, build.broadcast(gain, net::shapeOf(argument)));
    argument.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }
}

/// Returns sums of some values as well: plain, added to each other, or through a function that is not linear; and at
/// times what is made of a value and its own sum.
void RandomSlices::addSums(Random &random, ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  Operation *end = func.getBody().front().getTerminator();
  std::vector<Value> values;
  for (Operation &op : func.getBody().front())
    for (Value result : op.getResults())
      if (net::elementTypeOf(result).isF64() && net::typeOf(result).getRank() > 0)
        values.push_back(result);
  OpBuilder builder(end);
  net::NetBuilder build(builder, func.getLoc());
  SmallVector<Value> results(end->getOperands());
  Value last;
  for (int64_t count = values.empty() ? 0 : random.pick(1, 3); count > 0; --count) {
    Value value = random.choose(values);
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < net::typeOf(value).getRank(); ++dim)
      if (random.chance(60))
        dims.push_back(dim);
    Value sum = build.reduce(ReduceKind::Sum, value, dims);
    if (last && last.getType() == sum.getType())
      sum = build.add(sum, last);
    last = sum;
    if (random.chance(30))
      sum = build.unary<net::TanhOp>(sum);
    if (random.chance(15) && net::typeOf(sum).getRank() == 0)
      sum = build.multiply(value, build.broadcast(sum, net::shapeOf(value)));
    results.push_back(sum);
  }
  end->setOperands(results);
  func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(), TypeRange(ValueRange(results))));
}

/// Gives the module a mesh with slices and cuts dimensions of its inputs that divide; false if there is none.
bool RandomSlices::cut(Random &random, ModuleOp module) {
  int64_t ranks = random.pick(1, 2), slices = random.pick(2, 4);
  OpBuilder builder(module.getBodyRegion());
  Mesh mesh({"dp", "micro"}, {ranks, slices}, {AxisKind::Ranks, AxisKind::Slices});
  auto op = MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  op->setAttr(kDataAxesAttr, builder.getStrArrayAttr({"dp"}));
  auto func = *module.getOps<func::FuncOp>().begin();
  bool any = false;
  for (BlockArgument argument : func.getArguments()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
    SmallVector<unsigned> fitting;
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      if (shape[dim] % (ranks * slices) == 0)
        fitting.push_back(dim);
    if (fitting.empty() || (any && random.chance(50)))
      continue;
    Placement placement = Placement::replicated(shape.size());
    unsigned dim = fitting[random.pick(0, fitting.size() - 1)];
    int64_t part = shape[dim] / ranks;
    placement.dims[dim] = {{0, shape[dim], part}, {1, part, part / slices}};
    setMapping(argument, normalize(placement, mesh).toAttr(&context, mesh, shape));
    any = true;
  }
  return any;
}

/// Whether completion accepts the module; if not it has said why.
bool RandomSlices::complete(ModuleOp module) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  PassManager manager(&context);
  manager.addPass(complete::createPropagatePass());
  manager.addPass(complete::createVerifyPass());
  if (succeeded(manager.run(module)))
    return true;
  EXPECT_TRUE(StringRef(message).contains("slices of axis \"micro\"")) << message << "\n" << print(module);
  return false;
}

void RandomSlices::count(ModuleOp module) {
  int64_t accumulators = 0, sums = 0, sliced = 0;
  for (auto variable : module.getOps<net::VariableOp>())
    accumulators += variable.getKind() == net::VariableKind::Accumulator;
  module.walk([&](net::AccumulateOp) { ++sums; });
  module.walk(
      [&](ShardOp op) { sliced += !op.getInput().getDefiningOp<net::ConstantOp>() && op.getInput().getDefiningOp(); });
  accumulated += sums;
  collected += accumulators - sums;
  early += sliced;
}

void RandomSlices::check(Random &random) {
  OwningOpRef<ModuleOp> serial = RandomNetwork(random, context).build(random.pick(2, 10));
  if (random.chance(80))
    addGain(*serial);
  addSums(random, *serial);
  OwningOpRef<ModuleOp> module = serial->clone();
  if (!cut(random, *module))
    return;
  if (!complete(*module)) {
    ++refused;
    return;
  }
  std::string completed = print(*module);
  PassManager manager(&context);
  partition::LocalizeShapesPassOptions options;
  options.scatterSlices = random.chance(30);
  partition::buildPipeline(manager, options);
  ASSERT_TRUE(succeeded(manager.run(*module))) << completed;
  count(*module);
  ++compared;
  compareSteps(random, *serial, *module);
  if (HasFatalFailure())
    ADD_FAILURE() << "with the placements\n" << completed;
}

TEST_F(RandomSlices, equalTheWholeBatch) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 600;
  for (int64_t round = 0; round < rounds; ++round) {
    Random random(7000 + round);
    SCOPED_TRACE(random.describe(round));
    check(random);
    if (HasFailure())
      return;
  }
  llvm::outs() << compared << " compared, " << refused << " refused; " << accumulated << " sums over slices, "
               << collected << " values put together, " << early << " computed of the whole batch and read in slices\n";
  EXPECT_GE(compared * 5, rounds);
  EXPECT_GE(accumulated * 10, rounds);
  EXPECT_GE(collected * 5, rounds);
  EXPECT_GE(early * 10, rounds);
  EXPECT_GE(refused * 20, rounds);
}

} // namespace
