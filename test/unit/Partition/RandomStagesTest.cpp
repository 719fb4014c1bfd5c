//===- RandomStagesTest.cpp - stages of a pipeline equal the whole --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small networks whose operations are given random stages, forwards as a pipeline has them or in any order,
// beside axes that split the batch and variables, owners of these, and slices. Completed, partitioned, run on all
// ranks, and compared with the serial network. MESHWRIGHT_TEST_CASES says how many (400 if it is not set).
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/Net.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Orders/TaskOrder.h"
#include "meshwright/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Partition/CompareSteps.h"
#include "test/unit/Partition/RandomBatch.h"
#include "test/unit/Partition/RandomNetwork.h"
#include <map>
#include <set>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

/// A network cut into stages.
class Cutter {
public:
  Cutter(Random &random, ModuleOp module, const Mesh &mesh, Axis axis)
      : random(random), module(module), mesh(mesh), axis(axis), builder(module.getContext()) {}

  void run();

private:
  void chooseCoordinates();
  std::string writeOrder() const;
  void placeVariables();
  void placeOperations();
  int64_t pickStage(Operation &op);

  Random &random;
  ModuleOp module;
  const Mesh &mesh;
  Axis axis;
  OpBuilder builder;
  /// For every stage its coordinate.
  std::vector<int64_t> coordinates;
  std::map<Operation *, int64_t> stages;
  bool inOrder = true;
};

/// Every coordinate has a stage at least, some have several.
void Cutter::chooseCoordinates() {
  for (int64_t coordinate = 0; coordinate < mesh.getSize(axis); ++coordinate)
    coordinates.push_back(coordinate);
  for (int64_t more = random.pick(0, 3); more > 0; --more)
    coordinates.push_back(random.pick(0, mesh.getSize(axis) - 1));
}

/// All forwards, then all backwards, on every rank.
std::string Cutter::writeOrder() const {
  schedule::TaskOrder order;
  order.numMicroBatches = 2;
  order.rankOfStage = coordinates;
  order.ranks.resize(mesh.getSize(axis));
  int64_t count = coordinates.size();
  for (int64_t turn = 0; turn < 2 * count; ++turn)
    for (int64_t micro = 0; micro < 2; ++micro) {
      bool isForward = turn < count;
      int64_t stage = isForward ? turn : 2 * count - 1 - turn;
      order.ranks[coordinates[stage]].push_back(
          {isForward ? schedule::TaskKind::Forward : schedule::TaskKind::Backward, stage, micro});
    }
  std::string text;
  llvm::raw_string_ostream stream(text);
  schedule::writeCsv(order, stream);
  return text;
}

/// A variable is on one coordinate, or everywhere, and split over the tensor axis where a dimension divides; at times
/// it has one owner on other axes too, or is split there, and is computed with as if it were neither.
void Cutter::placeVariables() {
  for (auto variable : module.getOps<net::VariableOp>()) {
    ArrayRef<int64_t> shape = variable.getTensorType().getShape();
    Placement placement = Placement::replicated(shape.size());
    if (random.chance(80))
      placement.setHolder(axis, random.pick(0, mesh.getSize(axis) - 1));
    std::optional<Axis> tensor = mesh.find("tp");
    for (unsigned dim = 0; tensor && dim < shape.size() && !placement.findSplit(*tensor); ++dim)
      if (shape[dim] % mesh.getSize(*tensor) == 0 && random.chance(60))
        placement.insert(dim, {*tensor, shape[dim], shape[dim] / mesh.getSize(*tensor)});
    MappingAttr computed = placement.toAttr(module.getContext(), mesh, shape);
    for (Axis other = 0; other < mesh.getNumRankAxes(); ++other) {
      int64_t size = mesh.getSize(other);
      if (other == axis || other == tensor || random.chance(60))
        continue;
      bool isSplit = !shape.empty() && placement.dims[0].empty() && shape[0] % size == 0 && random.chance(50);
      if (isSplit)
        placement.insert(0, {other, shape[0], shape[0] / size});
      else
        placement.setHolder(other, random.pick(0, size - 1));
    }
    kMappingAttr.set(variable, placement.toAttr(module.getContext(), mesh, shape));
    module.walk([&](net::ReadOp read) {
      if (read.getVariable() == variable.getSymName())
        kResultsAttr.set(read, builder.getArrayAttr(computed));
    });
  }
}

int64_t Cutter::pickStage(Operation &op) {
  int64_t last = coordinates.size() - 1, least = 0;
  for (Value operand : op.getOperands())
    if (auto found = stages.find(operand.getDefiningOp()); found != stages.end())
      least = std::max(least, found->second);
  if (!inOrder)
    return random.pick(0, last);
  return random.chance(60) ? least : random.pick(least, last);
}

/// Most operations that depend on a variable have a stage, and some that do not.
void Cutter::placeOperations() {
  inOrder = random.chance(70);
  std::set<Operation *> dependent;
  auto func = *module.getOps<func::FuncOp>().begin();
  for (Operation &op : func.getBody().front()) {
    bool depends = isa<net::ReadOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
                     return dependent.count(operand.getDefiningOp()) > 0;
                   });
    if (depends)
      dependent.insert(&op);
    if (isa<net::ReadOp, net::AssignOp, func::ReturnOp>(op) || !random.chance(depends ? 80 : 30))
      continue;
    stages[&op] = pickStage(op);
    kStageAttr.set(&op, builder.getI64IntegerAttr(stages[&op]));
  }
}

void Cutter::run() {
  chooseCoordinates();
  auto op = *module.getOps<MeshOp>().begin();
  kStageAxisAttr.set(op, builder.getStringAttr(mesh.getName(axis)));
  kTaskOrderAttr.set(op, builder.getStringAttr(writeOrder()));
  placeVariables();
  placeOperations();
}

class RandomStages : public StepsTest {
protected:
  bool place(Random &random, ModuleOp module);
  void count(ModuleOp module);
  void check(Random &random);

  int64_t compared = 0, refused = 0, sends = 0, splitSends = 0, joined = 0, sliced = 0, held = 0, pieces = 0;
};

/// Gives the module a mesh, splits inputs and cuts the network; false where inputs do not divide.
bool RandomStages::place(Random &random, ModuleOp module) {
  std::vector<std::string> names = {"pp"};
  std::vector<int64_t> sizes = {random.pick(2, 4)};
  SmallVector<AxisKind> kinds = {AxisKind::Ranks};
  if (random.chance(60)) {
    bool isFirst = random.chance(50);
    names.insert(isFirst ? names.begin() : names.end(), "dp");
    sizes.insert(isFirst ? sizes.begin() : sizes.end(), 2);
    kinds.push_back(AxisKind::Ranks);
  }
  SmallVector<Axis> batch;
  if (names.size() == 2)
    batch.push_back(names[0] == "pp");
  if (random.chance(40)) {
    names.push_back("tp");
    sizes.push_back(2);
    kinds.push_back(AxisKind::Ranks);
  }
  if (random.chance(50)) {
    batch.push_back(names.size());
    names.push_back("micro");
    sizes.push_back(random.pick(2, 3));
    kinds.push_back(AxisKind::Slices);
  }
  Mesh mesh(names, sizes, kinds);
  OpBuilder builder(module.getBodyRegion());
  auto op = MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  // Axes whose splits are followed whatever it costs, and axes where bytes decide.
  if (random.chance(50))
    kDataAxesAttr.set(op, builder.getStrArrayAttr({"dp"}));
  if (!batch.empty() && !cutInputs(random, module, mesh, batch))
    return false;
  Cutter(random, module, mesh, *mesh.find("pp")).run();
  return true;
}

/// Counts what crosses, and checks that nothing crosses twice.
void RandomStages::count(ModuleOp module) {
  std::set<std::pair<const void *, const void *>> seen;
  module.walk([&](SendOp op) {
    ++sends;
    splitSends += llvm::any_of(op.getFrom().getDims(), [](dist::DigitsAttr digits) { return !digits.empty(); });
    EXPECT_TRUE(seen.insert({op.getInput().getAsOpaquePointer(), op.getTo().getAsOpaquePointer()}).second)
        << print(module);
  });
  module.walk([&](ConversionOpInterface op) {
    auto from = op.getFrom().getPartialAxes();
    pieces += isa<AllGatherOp>(op) && kReasonAttr.isOn(op);
    joined += llvm::is_contained(from.getAsValueRange<StringAttr>(), "pp") && op.isCollective();
  });
  module.walk([&](Operation *op) { held += getOn(op) && getOn(op).size() > 1; });
}

void RandomStages::check(Random &random) {
  OwningOpRef<ModuleOp> serial = RandomNetwork(random, context).build(random.pick(2, 10));
  if (random.chance(80))
    addGain(*serial);
  addSums(random, *serial);
  OwningOpRef<ModuleOp> module = serial->clone();
  if (!place(random, *module))
    return;
  std::string placed = print(*module);
  if (!complete(*module)) {
    ++refused;
    return;
  }
  std::string completed = print(*module);
  auto splitSends = +[](OpPassManager &manager) {
    optimize::SplitSendsPassOptions options;
    options.leastSize = 0;
    manager.addPass(optimize::createSplitSendsPass(options));
    manager.addPass(partition::createVerifyPass());
  };
  auto partitionAll = +[](OpPassManager &manager) { partition::buildPipeline(manager); };
  void (*optimizeAll)(OpPassManager &) = [](OpPassManager &manager) { optimize::buildPipeline(manager); };
  for (auto build : {partitionAll, optimizeAll, splitSends}) {
    PassManager manager(&context);
    build(manager);
    ASSERT_TRUE(succeeded(manager.run(*module))) << completed;
    Random inputs = random;
    compareSteps(inputs, *serial, *module);
    if (HasFatalFailure())
      FAIL() << "with the placements\n" << completed;
  }
  ++compared;
  count(*module);
  sliced += (*module->getOps<MeshOp>().begin()).getMesh().find(AxisKind::Slices).has_value();
}

TEST_F(RandomStages, equalTheWhole) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 400;
  for (int64_t round = 0; round < rounds; ++round) {
    Random random(9000 + round);
    SCOPED_TRACE(random.describe(round));
    check(random);
    if (HasFailure())
      return;
  }
  llvm::outs() << compared << " compared, " << sliced << " of them in slices, " << refused << " refused; " << sends
               << " values sent, " << splitSends << " of them split and " << pieces << " gathered; " << joined
               << " reductions over stages, " << held << " operations with holders on two axes\n";
  EXPECT_GE(compared * 2, rounds);
  EXPECT_GE(sliced * 8, rounds);
  EXPECT_GE(sends, rounds);
  EXPECT_GE(splitSends * 4, rounds);
  EXPECT_GE(pieces * 4, rounds);
  EXPECT_GE(joined * 20, rounds);
  EXPECT_GE(held * 4, rounds);
}

} // namespace
