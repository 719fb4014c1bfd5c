//===- OperationSplitsTest.cpp - no rule untested -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through the register of operations (test/lib/Operations): each, in random shapes with random attributes, is
// split in every way that its sharding rule allows, partitioned, run on 2 to 4 ranks, and compared with the serial
// operation. Partial operands are what ranks contribute to a reduction, different on every rank.
//
// Then the same with special values: NaN, infinities, zeros of both signs, denormals, the ends of the types, and ranks
// whose part is empty. The result is NaN where the serial one is, and nowhere else; sums may be rounded otherwise, all
// others have the same value.
//
// MESHWRIGHT_TEST_CASES says how many cases of each family there are (3 if it is not set), MESHWRIGHT_TEST_SEED which,
// and MESHWRIGHT_TEST_TABLE=1 asks for a table of what was tried.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/OperationSplits.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/Operations/OperationCases.h"
#include "test/lib/Simulate/Simulator.h"
#include "test/unit/Partition/CompareSteps.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Partition/RandomTensor.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

/// A case's program in one way of splitting, before and after it is partitioned.
class SplitCase {
public:
  SplitCase(ModuleOp original, const OperationCase &drawn, const SplitPlan &plan, const ShardingRule &rule,
            bool isSpecial)
      : drawn(drawn), plan(plan), isSpecial(isSpecial), mesh(plan.makeMesh()),
        serial(cast<ModuleOp>(original->clone())), placements(getOperation(*serial), rule, mesh) {}

  /// Places the operation by the plan. Returns false if the rule rejects the plan.
  bool place();
  bool isUneven() const { return uneven; }
  /// True if some rank has no part of the split factor.
  bool isEmptySomewhere() const;
  /// Partitions, runs both, and compares.
  void check(Random &random);

private:
  SpecialRange getRange() const;
  void makePartial(unsigned index, int64_t numTerms);
  int64_t pickTerms(Random &random) const;
  void placeOperand(unsigned index, Random &random);
  void annotateFunction(Random &random);
  Placement withoutPartials(Placement placement) const;
  void setOperands(Operation *op, ArrayRef<Placement> placements) const;

  OperationCase drawn;
  const SplitPlan &plan;
  bool isSpecial;
  Mesh mesh;
  OwningOpRef<ModuleOp> serial, partitioned;
  OperationPlacements placements;
  bool uneven = false;
};

} // namespace

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

bool SplitCase::place() {
  Operation *op = getOperation(*serial);
  auto rule = cast<ShardingOpInterface>(op).getShardingRule();
  for (auto [axis, choice] : llvm::enumerate(plan.choices)) {
    if (!choice.split) {
      if (!placements.pass(axis, rule.partials[choice.partial]))
        return false;
      continue;
    }
    std::optional<bool> isUneven = placements.split(axis, *choice.split);
    if (!isUneven)
      return false;
    uneven |= *isUneven;
  }
  // A part may be empty in one tensor and not in another, as where a pad cuts rows off: rules refuse that.
  return !isSpecial || placements.followRule();
}

bool SplitCase::isEmptySomewhere() const {
  return llvm::any_of(llvm::zip_equal(plan.choices, plan.sizes), [](const auto &entry) {
    const auto &[choice, n] = entry;
    return choice.split && choice.split->extent <= choice.split->stride * (n - 1);
  });
}

Placement SplitCase::withoutPartials(Placement placement) const {
  placement.partialAxes.clear();
  return normalize(placement, mesh);
}

/// The range of special numbers for the operands, depending on whether results are added or multiplied over the ranks.
SpecialRange SplitCase::getRange() const {
  auto rule = cast<ShardingOpInterface>(getOperation(*serial)).getShardingRule();
  SpecialRange range = SpecialRange::Exact;
  auto join = [&](ReduceKind kind) {
    if (kind == ReduceKind::Product)
      range = SpecialRange::Multiplied;
    else if (kind == ReduceKind::Sum && range == SpecialRange::Exact)
      range = SpecialRange::Summed;
  };
  for (const AxisChoice &choice : plan.choices) {
    if (!choice.split)
      join(rule.partials[choice.partial].kind);
    else if (toTensorSplit(rule.results[0], *choice.split, 2).kind == TensorSplit::Kind::Absent)
      join(rule.factors[choice.split->factor].reduction);
  }
  return range;
}

/// The number of terms of a partial operand: two per rank, or so few that a rank has none.
int64_t SplitCase::pickTerms(Random &random) const {
  int64_t size = mesh.getSize(0);
  return isSpecial ? random.choose(std::vector<int64_t>{1, size, size + 1, 2 * size}) : 2 * size;
}

/// Makes a partial operand of an argument that is larger by a leading dimension, which is split and reduced.
void SplitCase::makePartial(unsigned index, int64_t numTerms) {
  Operation *op = getOperation(*serial);
  auto func = op->getParentOfType<func::FuncOp>();
  auto argument = cast<BlockArgument>(op->getOperand(index));
  const Placement &placement = placements.operand(index);
  Placement whole = withoutPartials(placement);
  whole.dims.insert(whole.dims.begin(), SmallVector<Split, 2>());
  int64_t extent = numTerms;
  for (Axis axis : placement.partialAxes) {
    int64_t stride = llvm::divideCeil(extent, mesh.getSize(axis));
    whole.dims.front().push_back({axis, extent, stride});
    extent = stride;
  }
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), numTerms);
  drawn.operands[argument.getArgNumber()].shape.assign(shape.begin(), shape.end());
  argument.setType(type.clone(shape));
  setMapping(argument, whole.toAttr(op->getContext(), mesh, shape));
  OpBuilder builder(op);
  auto reduce = net::ReduceOp::create(builder, op->getLoc(), type, placement.partialKind, argument,
                                      builder.getDenseI64ArrayAttr({0}));
  op->setOperand(index, reduce.getResult());
  Attribute left = placement.toAttr(op->getContext(), mesh, type.getShape());
  setOperands(reduce, {whole});
  kComputesAttr.set(reduce, builder.getArrayAttr({left}));
  kResultsAttr.set(reduce, builder.getArrayAttr({left}));
  func.setFunctionType(FunctionType::get(op->getContext(), func.getBody().getArgumentTypes(), func.getResultTypes()));
}

void SplitCase::setOperands(Operation *op, ArrayRef<Placement> placements) const {
  SmallVector<Attribute> operands;
  for (auto [operand, placement] : llvm::zip_equal(op->getOperands(), placements))
    operands.push_back(placement.toAttr(op->getContext(), mesh, shapeOf(operand)));
  kOperandsAttr.set(op, ArrayAttr::get(op->getContext(), operands));
}

/// Says where an operand is: an argument, which may have to become a sum, or a constant.
void SplitCase::placeOperand(unsigned index, Random &random) {
  Value operand = getOperation(*serial)->getOperand(index);
  const Placement &placement = placements.operand(index);
  bool isConstant = operand.getDefiningOp() != nullptr;
  if (!isConstant && !placement.partialAxes.empty()) {
    int64_t numTerms = pickTerms(random);
    for (Axis axis : ArrayRef(placement.partialAxes).drop_front())
      numTerms *= mesh.getSize(axis);
    return makePartial(index, numTerms);
  }
  // A constant that is read as a sum is made partial by Partition.
  Attribute mapping = withoutPartials(placement).toAttr(operand.getContext(), mesh, shapeOf(operand));
  if (isConstant)
    kResultsAttr.set(operand.getDefiningOp(), ArrayAttr::get(operand.getContext(), mapping));
  else
    setMapping(cast<BlockArgument>(operand), cast<MappingAttr>(mapping));
}

/// Arguments come as the operation reads them, and results are returned as it leaves them, but for sums they owe.
void SplitCase::annotateFunction(Random &random) {
  Operation *op = getOperation(*serial);
  OpBuilder builder(serial->getBodyRegion());
  MeshOp::create(builder, serial->getLoc(), "mesh", mesh);
  SmallVector<Placement> results, returned;
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    results.push_back(placements.result(index));
    returned.push_back(withoutPartials(placements.result(index)));
  }
  placements.annotate(results);
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    placeOperand(index, random);
  Operation *terminator = op->getBlock()->getTerminator();
  setOperands(terminator, returned);
  kResultsAttr.set(terminator, builder.getArrayAttr({}));
}

void SplitCase::check(Random &random) {
  SpecialRange range = getRange();
  annotateFunction(random);
  partitioned = cast<ModuleOp>(serial->clone());
  PassManager manager(serial->getContext());
  partition::buildPipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*partitioned))) << print(*serial);
  auto program = evaluate::Program::create(*serial);
  auto simulator = simulate::Simulator::create(*partitioned);
  ASSERT_TRUE(succeeded(program) && succeeded(simulator));
  SmallVector<Type> types = llvm::to_vector(program->getFunction().getArgumentTypes());
  auto inputs = isSpecial ? drawSpecialOperands(drawn, types, range, random) : drawOperands(drawn, types, random);
  double tolerance = isSpecial && range == SpecialRange::Exact ? 0 : 1e-12;
  auto expected = program->run(inputs), actual = simulator->run(inputs);
  ASSERT_TRUE(succeeded(expected) && succeeded(actual)) << print(*serial) << print(*partitioned);
  for (auto [left, right] : llvm::zip_equal(*actual, *expected))
    ASSERT_LE(getDistance(left, right), tolerance) << print(*serial) << print(*partitioned);
}

namespace {

class OperationSplits : public StepsTest {
protected:
  /// Tries all plans for one case of a family, or those that special values are tried with.
  void checkAll(const CaseFamily &family, Random &random, bool isSpecial = false);
  void checkSpecial(const std::vector<CaseFamily> &families, int64_t round);

  SplitCoverage coverage;
  int64_t numEmpty = 0;
};

void OperationSplits::checkAll(const CaseFamily &family, Random &random, bool isSpecial) {
  CaseSource source(random, {2, 3, 4, 4, 5, 6, 6, 7, 8});
  OperationCase drawn = family.draw(source);
  OwningOpRef<ModuleOp> module = parseCase(drawn, context);
  ASSERT_TRUE(module) << drawn.text;
  Operation *op = getOperation(*module);
  auto interface = dyn_cast<ShardingOpInterface>(op);
  ASSERT_TRUE(interface) << drawn.text << " has no sharding rule";
  ShardingRule rule = interface.getShardingRule();
  ASSERT_TRUE(succeeded(rule.verify(op)));
  coverage.expect(op, rule);
  for (const SplitPlan &plan : isSpecial ? enumerateSpecialPlans(rule) : enumeratePlans(rule)) {
    SplitCase split(*module, drawn, plan, rule, isSpecial);
    if (!split.place())
      continue;
    SCOPED_TRACE(drawn.text + "\n" + plan.describe());
    coverage.count(op, rule, plan, split.isUneven());
    numEmpty += split.isEmptySomewhere();
    split.check(random);
    if (HasFatalFailure())
      return;
  }
}

void OperationSplits::checkSpecial(const std::vector<CaseFamily> &families, int64_t round) {
  for (auto [index, family] : llvm::enumerate(families)) {
    Random random(9000000 + static_cast<uint64_t>(index) * 1000 + static_cast<uint64_t>(round));
    SCOPED_TRACE(family.operation + ", " + family.what + ", " + random.describe(round));
    checkAll(family, random, /*isSpecial=*/true);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(OperationSplits, equalTheSerialOperationOnSpecialValues) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  for (int64_t round = 0, rounds = cases ? std::atoll(cases) : 2; round < rounds && !HasFatalFailure(); ++round) {
    checkSpecial(getCaseFamilies(), round);
    checkSpecial(getSpecialFamilies(), round);
  }
  EXPECT_GE(numEmpty, 100) << "too few plans leave a rank without a part";
}

TEST_F(OperationSplits, equalTheSerialOperation) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 3;
  // Rounds are added until the floor is reached, within limits: other seeds take a little longer.
  for (int64_t round = 0; round < rounds || (round < 4 * rounds && !coverage.findMissing().empty()); ++round) {
    for (auto [index, family] : llvm::enumerate(getCaseFamilies())) {
      Random random(5000 + static_cast<uint64_t>(index) * 1000 + static_cast<uint64_t>(round));
      SCOPED_TRACE(family.operation + ", " + family.what + ", " + random.describe(round));
      checkAll(family, random);
      if (HasFatalFailure())
        return;
    }
  }
  if (std::getenv("MESHWRIGHT_TEST_TABLE"))
    llvm::outs() << coverage.print();
  // The floor: every factor alone, in parts of equal and unequal size, and over two axes; every kind of partial
  // operand.
  for (const std::string &name : coverage.findMissing())
    ADD_FAILURE() << name << " was not split in all ways";
  for (const std::string &name : findWithoutFamily(context))
    ADD_FAILURE() << name << " has no case in test/lib/Operations";
}

TEST_F(OperationSplits, equalTheSerialOperationByEveryIndexType) {
  std::vector<CaseFamily> families = getIndexTypeFamilies();
  for (auto [index, family] : llvm::enumerate(families)) {
    Random random(9000 + static_cast<uint64_t>(index));
    SCOPED_TRACE(family.operation + ", " + family.what + ", " + random.describe(0));
    checkAll(family, random);
    if (HasFatalFailure())
      return;
  }
}

} // namespace
