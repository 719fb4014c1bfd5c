//===- OperationBatchesTest.cpp - every operation for batches -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through the register of operations (test/lib/Operations): each is done for a batch of operands, of which some
// lack dimensions of the batch, and every member of the result is compared with the operation itself.
// MESHWRIGHT_TEST_CASES says how many of each family there are (20 if it is not set), MESHWRIGHT_TEST_SEED which.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Batch.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/lib/Operations/OperationCases.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using evaluate::Index;
using evaluate::Shape;
using evaluate::Tensor;

static MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, net::NetDialect>();
    registerNetBatches(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

/// The results of operations of a block, by value.
static bool evaluateBlock(Block &block, llvm::DenseMap<Value, Tensor> &values) {
  for (Operation &op : block.without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values[operand]);
    FailureOr<evaluate::Tensors> results = evaluate::evaluateOperation(&op, operands);
    if (failed(results))
      return false;
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
      values[value] = tensor;
  }
  return true;
}

static evaluate::Tensors getResults(Operation *op, const llvm::DenseMap<Value, Tensor> &values) {
  evaluate::Tensors results;
  for (Value result : op->getResults())
    results.push_back(values.lookup(result));
  return results;
}

/// A number of the same bits, or NaN as the other one.
static bool isSame(const Tensor &tensor, int64_t at, const Tensor &other, int64_t otherAt) {
  if (!tensor.isFloat())
    return tensor.data[at].i == other.data[otherAt].i;
  double left = tensor.data[at].f, right = other.data[otherAt].f;
  return (left != left && right != right) || std::memcmp(&left, &right, sizeof left) == 0;
}

namespace {

/// A case, drawn for every member of a batch.
struct Members {
  /// The sizes of the batch, and its dimensions that each operand has.
  Index sizes;
  std::vector<Index> dims;
  /// The operands of the case by member.
  std::vector<std::vector<Tensor>> operands;

  /// The member whose operand is that of `index`: the first along dimensions that the operand lacks.
  int64_t find(unsigned operand, Shape index) const {
    Index first(sizes.size(), 0);
    for (int64_t dim : dims[operand])
      first[dim] = index[dim];
    return evaluate::linearize(sizes, first);
  }
};

} // namespace

static Members drawMembers(const OperationCase &drawn, ArrayRef<Type> types, Random &random) {
  Members members;
  for (int64_t rank = random.pick(1, 2); rank > 0; --rank)
    members.sizes.push_back(random.pick(1, 3));
  int64_t count = 1;
  for (int64_t size : members.sizes)
    count *= size;
  for (size_t operand = 0; operand < types.size(); ++operand) {
    Index &dims = members.dims.emplace_back();
    for (int64_t dim = 0; dim < static_cast<int64_t>(members.sizes.size()); ++dim)
      if (random.chance(65))
        dims.push_back(dim);
  }
  for (int64_t member = 0; member < count; ++member)
    members.operands.push_back(drawOperands(drawn, types, random));
  return members;
}

/// The operands with their dimensions of the batch.
static Tensor stack(const Members &members, unsigned operand) {
  RankedTensorType type = members.operands[0][operand].type;
  Index shape;
  for (int64_t dim : members.dims[operand])
    shape.push_back(members.sizes[dim]);
  size_t batchRank = shape.size();
  llvm::append_range(shape, type.getShape());
  Tensor stacked(type.clone(shape));
  int64_t next = 0;
  evaluate::forEachIndex(ArrayRef(shape).take_front(batchRank), [&](Shape own) {
    Index index(members.sizes.size(), 0);
    for (auto [dim, coordinate] : llvm::zip_equal(members.dims[operand], own))
      index[dim] = coordinate;
    for (evaluate::Element element : members.operands[evaluate::linearize(members.sizes, index)][operand].data)
      stacked.data[next++] = element;
  });
  return stacked;
}

static void checkCase(const CaseFamily &family, Random &random, const std::string &what) {
  CaseSource source(random, {1, 2, 2, 3, 3, 4, random.chance(15) ? 0 : 2});
  OperationCase drawn = family.draw(source);
  OwningOpRef<ModuleOp> module = parseCase(drawn, getContext());
  ASSERT_TRUE(module) << what << drawn.text;
  SCOPED_TRACE(what + drawn.text);
  Operation *op = getOperation(*module);
  Block &block = *op->getBlock();
  if (block.getNumArguments() == 0)
    return;
  SmallVector<Type> types(block.getArgumentTypes());
  Members members = drawMembers(drawn, types, random);

  // The operation alone, for every member.
  std::vector<evaluate::Tensors> expected;
  evaluate::forEachIndex(members.sizes, [&](Shape index) {
    llvm::DenseMap<Value, Tensor> values;
    for (BlockArgument argument : block.getArguments())
      values[argument] = members.operands[members.find(argument.getArgNumber(), index)][argument.getArgNumber()];
    ASSERT_TRUE(evaluateBlock(block, values));
    expected.push_back(getResults(op, values));
  });

  // The batch, of arguments of their own: the operation stays as it is.
  OpBuilder builder(op);
  llvm::DenseMap<Value, Tensor> values;
  SmallVector<Value> stacked;
  for (unsigned argument = 0; argument < types.size(); ++argument) {
    Tensor tensor = stack(members, argument);
    stacked.push_back(block.addArgument(tensor.type, op->getLoc()));
    values[stacked.back()] = tensor;
    values[block.getArgument(argument)] = members.operands[0][argument];
  }
  SmallVector<net::BatchOperand> operands;
  for (Value value : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(value);
    net::BatchOperand &operand = operands.emplace_back(net::BatchOperand{value, {}});
    if (!argument)
      continue;
    operand.value = stacked[argument.getArgNumber()];
    llvm::append_range(operand.dims, members.dims[argument.getArgNumber()]);
  }
  evaluate::Tensors results;
  SmallVector<int64_t> sizes(members.sizes);
  net::Batch batch(builder, op, sizes, operands);
  FailureOr<SmallVector<Value>> made = net::batchOperation(op, batch);
  ASSERT_TRUE(succeeded(made));
  auto *terminator = block.getTerminator();
  terminator->setOperands(*made);
  auto function = cast<func::FuncOp>(block.getParentOp());
  function.setType(FunctionType::get(&getContext(), block.getArgumentTypes(), terminator->getOperandTypes()));
  op->erase();
  ASSERT_TRUE(succeeded(verify(*module)));
  ASSERT_TRUE(evaluateBlock(block, values));
  for (auto [number, value] : llvm::enumerate(*made)) {
    const Tensor &found = values[value];
    int64_t elements = expected[0][number].size();
    ASSERT_EQ(found.size(), elements * static_cast<int64_t>(expected.size()));
    for (auto [member, tensors] : llvm::enumerate(expected))
      for (int64_t at = 0; at < elements; ++at)
        ASSERT_TRUE(isSame(found, static_cast<int64_t>(member) * elements + at, tensors[number], at))
            << "element " << at << " of member " << member << " is " << found.data[member * elements + at].f
            << " and not " << tensors[number].data[at].f;
  }
}

TEST(OperationBatches, areWhatEachMemberIs) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 20;
  for (auto [index, family] : llvm::enumerate(getCaseFamilies()))
    for (int64_t round = 0; round < rounds; ++round) {
      Random random(static_cast<uint64_t>(index) * 1000 + static_cast<uint64_t>(round));
      ASSERT_NO_FATAL_FAILURE(checkCase(family, random, family.operation + ", " + random.describe(round) + "\n"));
    }
}
