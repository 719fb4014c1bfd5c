//===- ShardingRuleTest.cpp - digits and factors against index maps -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two tensors that share factors are compared element by element: a split that both can have puts an element of the one
// and the element of the other that has the same factor indices on the same coordinate. What follows is enumerated, not
// computed.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/ShardingRule.h"
#include "dialects/Dist/RuleCheck.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "test/unit/Random.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using meshwright::test::Random;

namespace {

using Kind = TensorSplit::Kind;

/// Calls `visit` with every tuple of indices below `sizes`.
void forEachIndex(ArrayRef<int64_t> sizes, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(sizes.size(), 0);
  while (true) {
    visit(index);
    size_t at = sizes.size();
    while (at > 0 && ++index[at - 1] == sizes[at - 1])
      index[--at] = 0;
    if (at == 0)
      return;
  }
}

/// The index along `dim` of the tensor's element with these factor indices; nothing where the tensor does not reach.
std::optional<int64_t> indexOf(const TensorRule &tensor, unsigned dim, ArrayRef<int64_t> factorIndices) {
  int64_t index = 0;
  for (const FactorUse &use : tensor.dims[dim]) {
    int64_t digit = factorIndices[use.factor] - use.offset;
    if (digit < 0 || digit >= use.size)
      return std::nullopt;
    index = index * use.size + digit;
  }
  return index;
}

int64_t coordinateOf(int64_t index, int64_t extent, int64_t stride) { return index % extent / stride; }

/// A tensor with the given factors, each spanned whole, grouped into dimensions of random length.
TensorRule groupFactors(Random &random, ArrayRef<unsigned> order, ArrayRef<int64_t> sizes) {
  TensorRule tensor;
  for (unsigned factor : order) {
    if (tensor.dims.empty() || random.chance(40))
      tensor.dims.emplace_back();
    tensor.dims.back().push_back({factor, sizes[factor]});
  }
  return tensor;
}

int64_t sizeOf(const TensorRule &tensor, unsigned dim) {
  int64_t size = 1;
  for (const FactorUse &use : tensor.dims[dim])
    size *= use.size;
  return size;
}

struct Digit {
  int64_t extent, stride;
};

/// A digit that a dimension of that size may have over an axis of size n: the extent divides the size.
Digit makeDigit(Random &random, int64_t size, int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t extent = 2; extent <= size; ++extent)
    if (size % extent == 0)
      divisors.push_back(extent);
  int64_t extent = divisors.empty() ? 1 : random.choose(divisors);
  return {extent, (extent + n - 1) / n};
}

/// Checks that the element of `to` with the same factor indices is on the same coordinate, for every element of `from`.
void checkSameCoordinates(const TensorRule &from, unsigned fromDim, Digit digit, const TensorRule &to,
                          const TensorSplit &split, ArrayRef<int64_t> lineSizes) {
  forEachIndex(lineSizes, [&](ArrayRef<int64_t> factorIndices) {
    std::optional<int64_t> left = indexOf(from, fromDim, factorIndices);
    std::optional<int64_t> right = indexOf(to, split.dim, factorIndices);
    if (!left || !right)
      return;
    ASSERT_EQ(coordinateOf(*left, digit.extent, digit.stride), coordinateOf(*right, split.extent, split.stride))
        << "index " << *left << " and index " << *right;
  });
}

// Tests that a digit of a tensor, taken to a factor and back, is that digit.
TEST(FactorSplit, returnsToTheSameDigit) {
  Random random;
  int64_t present = 0;
  for (int64_t round = 0; round < 2000; ++round) {
    SCOPED_TRACE(random.describe(round));
    SmallVector<int64_t> sizes{random.pick(1, 8), random.pick(1, 8), random.pick(1, 8)};
    TensorRule tensor = groupFactors(random, {0, 1, 2}, sizes);
    unsigned dim = random.pick(0, tensor.dims.size() - 1);
    int64_t n = random.pick(2, 4);
    Digit digit = makeDigit(random, sizeOf(tensor, dim), n);
    std::optional<FactorSplit> factor = toFactorSplit(tensor, dim, digit.extent, digit.stride, n);
    // A digit with empty coordinates is nothing that a pass makes.
    if (!factor || digit.stride * (n - 1) >= digit.extent)
      continue;
    ++present;
    TensorSplit back = toTensorSplit(tensor, *factor, n);
    ASSERT_EQ(back.kind, Kind::Present);
    EXPECT_EQ(back.dim, dim);
    EXPECT_EQ(back.extent, digit.extent);
    EXPECT_EQ(back.stride, digit.stride);
  }
  EXPECT_GT(present, 500);
}

// Tests reshapes, transposes and their mixtures: the same factors, grouped and ordered otherwise.
TEST(FactorSplit, agreesAcrossGroupings) {
  Random random(1);
  int64_t present = 0, uneven = 0;
  for (int64_t round = 0; round < 2000; ++round) {
    SCOPED_TRACE(random.describe(round));
    SmallVector<int64_t> sizes{random.pick(1, 8), random.pick(1, 8), random.pick(1, 8)};
    TensorRule from = groupFactors(random, {0, 1, 2}, sizes);
    TensorRule to = random.chance(50) ? groupFactors(random, {0, 1, 2}, sizes) : groupFactors(random, {2, 0, 1}, sizes);
    unsigned dim = random.pick(0, from.dims.size() - 1);
    int64_t n = random.pick(2, 4);
    Digit digit = makeDigit(random, sizeOf(from, dim), n);
    std::optional<FactorSplit> factor = toFactorSplit(from, dim, digit.extent, digit.stride, n);
    if (!factor || digit.stride * (n - 1) >= digit.extent)
      continue;
    TensorSplit split = toTensorSplit(to, *factor, n);
    // The whole factor is there, so the split is too.
    ASSERT_EQ(split.kind, Kind::Present);
    ++present;
    uneven += digit.stride * n != digit.extent;
    checkSameCoordinates(from, dim, digit, to, split, sizes);
  }
  EXPECT_GT(present, 500);
  EXPECT_GT(uneven, 50);
}

// Tests that an even digit inside one factor is never refused.
TEST(FactorSplit, findsTheFactorOfAnEvenDigit) {
  Random random(2);
  for (int64_t round = 0; round < 1000; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t n = random.pick(2, 4), stride = random.pick(1, 3), major = random.pick(1, 3), minor = random.pick(1, 5);
    int64_t factorSize = major * n * stride;
    TensorRule tensor;
    tensor.dims.push_back({{0, random.pick(1, 4)}, {1, factorSize}, {2, minor}});
    std::optional<FactorSplit> split = toFactorSplit(tensor, 0, n * stride * minor, stride * minor, n);
    ASSERT_TRUE(split);
    // Factors of one index are transparent, so a digit may be found in a neighbour only if it is as large.
    EXPECT_EQ(split->factor, 1u);
    EXPECT_EQ(split->extent, n * stride);
    EXPECT_EQ(split->stride, stride);
    EXPECT_EQ(split->open, major == 1);
  }
}

// Tests slices, pads and concatenations: tensors that span different parts of one factor's line.
TEST(FactorSplit, agreesAcrossWindows) {
  Random random(3);
  int64_t present = 0, shifted = 0, uneven = 0;
  for (int64_t round = 0; round < 10000; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t line = random.pick(2, 24), n = random.pick(2, 3), minor = random.pick(1, 3);
    auto makeWindow = [&] {
      int64_t offset = random.chance(50) ? 0 : random.pick(0, line - 1);
      TensorRule tensor;
      tensor.dims.push_back({{0, random.pick(1, line - offset), offset}, {1, minor}});
      return tensor;
    };
    TensorRule from = makeWindow(), to = makeWindow();
    Digit digit = makeDigit(random, sizeOf(from, 0), n);
    std::optional<FactorSplit> factor = toFactorSplit(from, 0, digit.extent, digit.stride, n);
    if (!factor || factor->factor != 0 || digit.stride * (n - 1) >= digit.extent)
      continue;
    TensorSplit split = toTensorSplit(to, *factor, n);
    int64_t period = factor->stride * n;
    const FactorUse &use = to.dims[0].front();
    if (factor->extent == period && use.offset % period == 0 && use.size % period == 0)
      EXPECT_EQ(split.kind, Kind::Present) << "the window begins and ends with a period";
    if (split.kind != Kind::Present)
      continue;
    ++present;
    shifted += use.offset != from.dims[0].front().offset;
    uneven += split.extent != split.stride * n;
    // No coordinate of the window is empty.
    EXPECT_LT(split.stride * (n - 1), split.extent);
    checkSameCoordinates(from, 0, digit, to, split, {line, minor});
  }
  EXPECT_GT(present, 200);
  EXPECT_GT(shifted, 20);
  EXPECT_GT(uneven, 20);
}

TEST(FactorSplit, tellsAbsentFromIllegal) {
  TensorRule lacks, has;
  lacks.dims.push_back({{0, 8}});
  has.dims.push_back({{1, 6, 3}});
  FactorSplit split{1, 12, 6, true};
  EXPECT_EQ(toTensorSplit(lacks, split, 2).kind, Kind::Absent);
  EXPECT_EQ(toTensorSplit(has, split, 2).kind, Kind::Illegal);
}

// Tests tensors that span nothing of a factor, as a slice of no rows does: they have no digit, wherever they begin.
TEST(FactorSplit, leavesTensorsWithoutIndicesWhole) {
  TensorRule rows, empty, emptyInside;
  rows.dims.push_back({{0, 4}});
  empty.dims.push_back({{0, 0}});
  emptyInside.dims.push_back({{0, 0, 2}});
  for (FactorSplit split : {FactorSplit{0, 4, 2, true}, FactorSplit{0, 2, 1, false}})
    for (const TensorRule &tensor : {empty, emptyInside})
      EXPECT_EQ(toTensorSplit(tensor, split, 2).kind, Kind::Illegal);
  EXPECT_FALSE(toFactorSplit(emptyInside, 0, 0, 1, 2));
}

// Tests the digits of a fused q/k/v projection: three pieces, each split over the heads.
TEST(FactorSplit, keepsDigitsOfFusedProjections) {
  // Result [qkv·heads·depth] of a product becomes [qkv, heads, depth] by a reshape.
  TensorRule fused, apart;
  fused.dims.push_back({{0, 3}, {1, 4}, {2, 16}});
  apart.dims = {{{0, 3}}, {{1, 4}}, {{2, 16}}};
  std::optional<FactorSplit> heads = toFactorSplit(fused, 0, 64, 32, 2);
  ASSERT_TRUE(heads);
  EXPECT_EQ(*heads, (FactorSplit{1, 4, 2, true}));
  TensorSplit split = toTensorSplit(apart, *heads, 2);
  EXPECT_EQ(split.kind, Kind::Present);
  EXPECT_EQ(split.dim, 1u);
  EXPECT_EQ(split.extent, 4);
  EXPECT_EQ(split.stride, 2);
  // Contiguous halves of the fused dimension cut the third piece in two: no factor has such a digit.
  EXPECT_FALSE(toFactorSplit(fused, 0, 192, 96, 2));
}

//===----------------------------------------------------------------------===//
// Rules against operations
//===----------------------------------------------------------------------===//

class RuleVerifierTest : public ::testing::Test {
protected:
  RuleVerifierTest() {
    context.allowUnregisteredDialects();
    auto type = RankedTensorType::get({4, 6}, Float32Type::get(&context));
    OperationState source(UnknownLoc::get(&context), "test.source");
    source.addTypes(type);
    producer = Operation::create(source);
    OperationState state(UnknownLoc::get(&context), "test.op");
    state.addOperands(producer->getResults());
    state.addTypes(type);
    op = Operation::create(state);
  }
  ~RuleVerifierTest() override {
    op->destroy();
    producer->destroy();
  }
  /// The error of the verifier; empty if the rule is valid.
  std::string verify(const ShardingRule &rule) {
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text = diagnostic.str(); });
    EXPECT_EQ(succeeded(rule.verify(op)), text.empty());
    return text;
  }

  MLIRContext context;
  Operation *producer, *op;
};

TEST_F(RuleVerifierTest, acceptsWhatTheBuildersMake) {
  EXPECT_EQ(verify(ShardingRule::elementwise({4, 6}, 1)), "");
  EXPECT_EQ(verify(ShardingRule::whole(op)), "");
}

TEST_F(RuleVerifierTest, namesWhatIsWrong) {
  EXPECT_EQ(verify(ShardingRule::elementwise({4, 6}, 2)),
            "'test.op' op sharding rule has 2 operands and 1 results but the operation has 1 and 1");
  EXPECT_EQ(verify(ShardingRule::elementwise({4}, 1)),
            "'test.op' op sharding rule has 1 dimensions for operand #0 of rank 2");
  EXPECT_EQ(verify(ShardingRule::elementwise({4, 5}, 1)),
            "'test.op' op sharding rule gives dimension 1 of operand #0 size 5 but it has 6");
  ShardingRule rule = ShardingRule::elementwise({4, 6}, 1);
  rule.results[0].dims[0][0].factor = 7;
  EXPECT_EQ(verify(rule), "'test.op' op sharding rule names factor 7 of 2");
  rule = ShardingRule::elementwise({4, 6}, 1);
  rule.partials.push_back({ReduceKind::Sum, {1}});
  EXPECT_EQ(verify(rule), "'test.op' op sharding rule names operand 1 of 1");
}

// Tests that a rule of an operation with other operands is told apart before anything is looked up in it.
TEST_F(RuleVerifierTest, goesWithPlacementsOfAllValues) {
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text = diagnostic.str(); });
  Placement whole[] = {Placement::replicated(2)};
  auto emitError = [&] { return op->emitOpError(); };
  EXPECT_TRUE(succeeded(checkRule(ShardingRule::elementwise({4, 6}, 1), Mesh(), whole, whole, emitError)));
  EXPECT_TRUE(failed(checkRule(ShardingRule::elementwise({4, 6}, 2), Mesh(), whole, whole, emitError)));
  EXPECT_EQ(text, "'test.op' op has a sharding rule for 2 operands and 1 results but 1 and 1 placements");
}

} // namespace
