//===- DerivativesTest.cpp - derivatives against differences --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every derivative is compared with differences of the function itself, in f64, along random directions. Values keep
// away from points where a function has no derivative; what holds there is tested in ConventionsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Random.h"
#include "test/unit/Train/Differences.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>

using namespace meshwright;
using namespace meshwright::train;
using evaluate::Tensor;

/// The numbers below `count` in random order.
static std::vector<int64_t> shuffle(size_t count, test::Random &random) {
  std::vector<int64_t> order(count);
  for (size_t at = 0; at < count; ++at) {
    auto other = static_cast<size_t>(random.pick(0, static_cast<int64_t>(at)));
    order[at] = order[other];
    order[other] = static_cast<int64_t>(at);
  }
  return order;
}

/// Distinct values from an interval, none closer than 0.01 to a multiple of one half.
static void draw(Tensor &tensor, const Function &function, test::Random &random) {
  std::vector<int64_t> order = shuffle(tensor.data.size(), random);
  for (size_t at = 0; at < order.size(); ++at) {
    double value = function.low + (function.high - function.low) * (static_cast<double>(order[at]) + 0.37) /
                                      static_cast<double>(order.size());
    double distance = 2 * value - std::nearbyint(2 * value);
    tensor.data[at].f = std::abs(distance) < 0.02 ? value + 0.02 : value;
  }
}

/// Values of the second parameter keep 0.01 away from those of the first.
static void separate(const Tensor &first, Tensor &second) {
  if (first.type == second.type)
    for (size_t at = 0; at < first.data.size(); ++at)
      if (std::abs(first.data[at].f - second.data[at].f) < 0.01)
        second.data[at].f += 0.03;
}

static void check(const Function &function, int64_t round = 0) {
  Differentiated program(function);
  ASSERT_TRUE(program.isValid()) << function.name << "\n" << function.body;
  test::Random random(static_cast<uint64_t>(round));
  for (unsigned index = 0; index < program.getNumParameters(); ++index)
    draw(program.parameter(index), function, random);
  if (program.getNumParameters() > 1)
    separate(program.parameter(0), program.parameter(1));
  compareWithDifferences(program, random, function.name + ", " + random.describe(round) + "\n" + function.body);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Derivatives, FunctionsOfOneOperand) {
  for (const char *name : {"abs", "asinh", "cosh", "cosine", "erf", "erfc", "exponential", "exponential_minus_one",
                           "logistic", "negate", "sine", "sinh", "tanh", "sign", "floor", "ceil", "round_nearest_even"})
    check({name, {{3, 4}}, std::string("  %r = net.") + name + " %p0 : tensor<3x4xf64>", {3, 4}});
  for (const char *name : {"cbrt", "lgamma", "log", "log_plus_one", "rsqrt", "sqrt", "tan"})
    check({name, {{3, 4}}, std::string("  %r = net.") + name + " %p0 : tensor<3x4xf64>", {3, 4}, 0.3, 1.4});
  for (const char *name : {"acos", "asin", "atanh"})
    check({name, {{3, 4}}, std::string("  %r = net.") + name + " %p0 : tensor<3x4xf64>", {3, 4}, -0.8, 0.8});
  check({"acosh", {{3, 4}}, "  %r = net.acosh %p0 : tensor<3x4xf64>", {3, 4}, 1.2, 3});
  check({"digamma", {{3, 4}}, "  %r = net.digamma %p0 : tensor<3x4xf64>", {3, 4}, -1.8, -1.2});
  check({"lgamma", {{3, 4}}, "  %r = net.lgamma %p0 : tensor<3x4xf64>", {3, 4}, -1.9, -1.1});
}

TEST(Derivatives, FunctionsOfTwoOperands) {
  for (const char *name : {"add", "atan2", "maximum", "minimum", "multiply", "subtract"})
    check({name, {{3, 4}, {3, 4}}, std::string("  %r = net.") + name + " %p0, %p1 : tensor<3x4xf64>", {3, 4}});
  for (const char *name : {"divide", "power"})
    check(
        {name, {{3, 4}, {3, 4}}, std::string("  %r = net.") + name + " %p0, %p1 : tensor<3x4xf64>", {3, 4}, 0.4, 2.3});
}

TEST(Derivatives, Remainder) {
  // The quotients lie between 2.2 and 2.7.
  check({"remainder",
         {{3, 4}, {3, 4}},
         "  %k = net.constant dense<2.3> : tensor<3x4xf64>\n  %s = net.constant dense<0.1> : tensor<3x4xf64>\n"
         "  %x = net.multiply %p0, %s : tensor<3x4xf64>\n  %n = net.add %x, %k : tensor<3x4xf64>\n"
         "  %r = net.remainder %n, %p1 : tensor<3x4xf64>",
         {3, 4},
         0.9,
         1.0});
}

TEST(Derivatives, PowersWithKnownExponents) {
  for (const char *exponent : {"0.0", "1.0", "2.0", "3.0", "0.5", "-1.5"})
    check({"power",
           {{5}},
           std::string("  %c = net.constant dense<") + exponent +
               "> : tensor<5xf64>\n  %r = net.power %p0, %c : tensor<5xf64>",
           {5},
           0.4,
           2.3});
}

TEST(Derivatives, OneValueAsBothOperands) {
  for (const char *name : {"add", "divide", "multiply", "subtract", "maximum", "atan2", "power"})
    check({name, {{3, 4}}, std::string("  %r = net.") + name + " %p0, %p0 : tensor<3x4xf64>", {3, 4}, 0.4, 2.3});
}

TEST(Derivatives, Select) {
  check({"select",
         {{3, 4}, {3, 4}},
         "  %z = net.constant dense<0.0> : tensor<3x4xf64>\n"
         "  %c = net.compare gt, %p0, %z : tensor<3x4xf64> -> tensor<3x4xi1>\n"
         "  %r = net.select %c, %p0, %p1 : tensor<3x4xi1>, tensor<3x4xf64>",
         {3, 4}});
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

TEST(Derivatives, Broadcast) {
  check({"broadcast", {{3}}, "  %r = net.broadcast %p0 dims = [1] : tensor<3xf64> -> tensor<2x3x4xf64>", {2, 3, 4}});
  check({"broadcast",
         {{4, 2}},
         "  %r = net.broadcast %p0 dims = [2, 0] : tensor<4x2xf64> -> tensor<2x3x4xf64>",
         {2, 3, 4}});
  check({"broadcast",
         {{4, 2, 3}},
         "  %r = net.broadcast %p0 dims = [2, 0, 1] : tensor<4x2x3xf64> -> tensor<2x3x4xf64>",
         {2, 3, 4}});
  check({"broadcast", {{}}, "  %r = net.broadcast %p0 dims = [] : tensor<f64> -> tensor<2x2xf64>", {2, 2}});
}

TEST(Derivatives, ReshapeAndTranspose) {
  check({"reshape", {{2, 6}}, "  %r = net.reshape %p0 : tensor<2x6xf64> -> tensor<3x4xf64>", {3, 4}});
  check({"transpose",
         {{2, 3, 4}},
         "  %r = net.transpose %p0 dims = [2, 0, 1] : tensor<2x3x4xf64> -> tensor<4x2x3xf64>",
         {4, 2, 3}});
}

TEST(Derivatives, Slice) {
  check({"slice",
         {{5, 8}},
         "  %r = net.slice %p0 starts = [1, 0] limits = [4, 8] steps = [1, 3] : tensor<5x8xf64> -> tensor<3x3xf64>",
         {3, 3}});
  check({"slices that tile",
         {{4, 6}},
         "  %a = net.slice %p0 starts = [0, 0] limits = [4, 2] steps = [1, 1] : tensor<4x6xf64> -> tensor<4x2xf64>\n"
         "  %b = net.slice %p0 starts = [0, 4] limits = [4, 6] steps = [1, 1] : tensor<4x6xf64> -> tensor<4x2xf64>\n"
         "  %c = net.slice %p0 starts = [0, 2] limits = [4, 4] steps = [1, 1] : tensor<4x6xf64> -> tensor<4x2xf64>\n"
         "  %d = net.multiply %a, %b : tensor<4x2xf64>\n  %r = net.multiply %c, %d : tensor<4x2xf64>",
         {4, 2}});
  check({"slices that overlap",
         {{4, 6}},
         "  %a = net.slice %p0 starts = [0, 0] limits = [4, 4] steps = [1, 1] : tensor<4x6xf64> -> tensor<4x4xf64>\n"
         "  %b = net.slice %p0 starts = [0, 2] limits = [4, 6] steps = [1, 1] : tensor<4x6xf64> -> tensor<4x4xf64>\n"
         "  %r = net.multiply %a, %b : tensor<4x4xf64>",
         {4, 4}});
}

TEST(Derivatives, Pad) {
  check({"pad",
         {{3, 4}, {}},
         "  %r = net.pad %p0, %p1 low = [1, 0] high = [0, 2] interior = [2, 1] : tensor<3x4xf64>, tensor<f64> -> "
         "tensor<8x9xf64>",
         {8, 9}});
  check({"pad that cuts",
         {{5, 4}, {}},
         "  %r = net.pad %p0, %p1 low = [-1, -2] high = [-3, 2] interior = [1, 0] : tensor<5x4xf64>, tensor<f64> -> "
         "tensor<5x4xf64>",
         {5, 4}});
}

TEST(Derivatives, Concatenate) {
  check({"concatenate",
         {{2, 3}, {2, 1}},
         "  %r = net.concatenate %p0, %p1, %p0 dim = 1 : tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x3xf64> -> "
         "tensor<2x7xf64>",
         {2, 7}});
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// A product with random numbers of batching, contracted and free dimensions, in random places.
static Function drawDot(test::Random &random) {
  int64_t batch = random.pick(0, 2), contract = random.pick(0, 2);
  Function function{"dot", {{}, {}}, "", {}};
  auto sizes = [&](int64_t count) {
    std::vector<int64_t> result;
    for (int64_t at = 0; at < count; ++at)
      result.push_back(random.pick(1, 3));
    return result;
  };
  std::vector<int64_t> batchSizes = sizes(batch), contractSizes = sizes(contract);
  std::string batchText[2], contractText[2];
  function.result = batchSizes;
  for (int side = 0; side < 2; ++side) {
    std::vector<int64_t> free = sizes(random.pick(0, 2));
    // The role of every dimension: batching, contracted, free, by number in turn, at shuffled places.
    std::vector<int64_t> places = shuffle(batch + contract + free.size(), random);
    std::vector<int64_t> &shape = function.shapes[side];
    shape.resize(places.size());
    auto join = [](std::string &text, int64_t dim) { text += (text.empty() ? "" : ", ") + std::to_string(dim); };
    for (int64_t at = 0; at < batch; ++at) {
      shape[places[at]] = batchSizes[at];
      join(batchText[side], places[at]);
    }
    for (int64_t at = 0; at < contract; ++at) {
      shape[places[batch + at]] = contractSizes[at];
      join(contractText[side], places[batch + at]);
    }
    std::vector<std::pair<int64_t, int64_t>> ordered;
    for (size_t at = 0; at < free.size(); ++at)
      ordered.emplace_back(places[batch + contract + static_cast<int64_t>(at)], free[at]);
    std::sort(ordered.begin(), ordered.end());
    for (auto [dim, size] : ordered) {
      shape[dim] = size;
      function.result.push_back(size);
    }
  }
  function.body = "  %r = net.dot %p0, %p1 batch = [" + batchText[0] + "] x [" + batchText[1] + "] contract = [" +
                  contractText[0] + "] x [" + contractText[1] + "] : " + printType(function.shapes[0]) + ", " +
                  printType(function.shapes[1]) + " -> " + printType(function.result);
  return function;
}

TEST(Derivatives, RandomProducts) {
  for (int64_t round = 0; round < 60; ++round) {
    test::Random random(static_cast<uint64_t>(round));
    check(drawDot(random), round);
  }
}

TEST(Derivatives, ProductOfAValueWithItself) {
  check({"dot",
         {{3, 4}},
         "  %r = net.dot %p0, %p0 batch = [] x [] contract = [1] x [1] : tensor<3x4xf64>, tensor<3x4xf64> -> "
         "tensor<3x3xf64>",
         {3, 3}});
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

TEST(Derivatives, Reductions) {
  for (const char *kind : {"sum", "max", "min", "product"}) {
    std::string op = std::string("  %r = net.reduce ") + kind;
    check({kind, {{2, 3, 4}}, op + " %p0 dims = [0, 2] : tensor<2x3x4xf64> -> tensor<3xf64>", {3}});
    check({kind, {{2, 3}}, op + " %p0 dims = [] : tensor<2x3xf64> -> tensor<2x3xf64>", {2, 3}});
    check({kind, {{2, 3}}, op + " %p0 dims = [0, 1] : tensor<2x3xf64> -> tensor<f64>", {}});
  }
}

TEST(Derivatives, ArgReduce) {
  for (const char *kind : {"max", "min"})
    check({kind,
           {{2, 5, 3}},
           std::string("  %r, %i = net.arg_reduce ") + kind +
               " %p0 dim = 1 : tensor<2x5x3xf64> -> tensor<2x3xf64>, tensor<2x3xi32>",
           {2, 3}});
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

TEST(Derivatives, Gather) {
  // Rows of a table; 9 and -3 lie outside and are clamped.
  check({"gather of rows",
         {{5, 3}},
         "  %i = net.constant dense<[[1], [4], [1], [9], [-3], [0]]> : tensor<6x1xi32>\n"
         "  %r = net.gather %p0, %i <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> "
         "sizes = [1, 3]"
         " : tensor<5x3xf64>, tensor<6x1xi32> -> tensor<6x3xf64>",
         {6, 3}});
  // Boxes at positions of both dimensions, the index vector first, the bounds of its components different.
  check({"gather of boxes",
         {{5, 7}},
         "  %i = net.constant dense<[[1, 4, 2], [6, 2, -1]]> : tensor<2x3xi64>\n"
         "  %r = net.gather %p0, %i <offsetDims = [0, 1], startIndexMap = [0, 1], indexVectorDim = 0> sizes = [2, 3]"
         " : tensor<5x7xf64>, tensor<2x3xi64> -> tensor<2x3x3xf64>",
         {2, 3, 3}});
  // One element of every row, as take_along_axis does.
  check({"gather along an axis",
         {{3, 4}},
         "  %i = net.constant dense<[[[2]], [[0]], [[7]]]> : tensor<3x1x1xui8>\n"
         "  %r = net.gather %p0, %i <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], "
         "startIndexMap = [1],"
         " indexVectorDim = 2> sizes = [1, 1] : tensor<3x4xf64>, tensor<3x1x1xui8> -> tensor<3x1xf64>",
         {3, 1}});
}

static const char *const kScatterRows =
    " %p0, %i, %p1 <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0],"
    " indexVectorDim = 1> : tensor<5x3xf64>, tensor<6x1xi32>, tensor<6x3xf64> -> tensor<5x3xf64>";
static const char *const kScatterBoxes =
    " %p0, %i, %p1 <updateWindowDims = [1, 2], scatterDimsToOperandDims = [0, 1],"
    " indexVectorDim = 1> : tensor<5x7xf64>, tensor<4x2xi64>, tensor<4x2x3xf64> -> tensor<5x7xf64>";

TEST(Derivatives, Scatter) {
  // Rows meet, and rows outside are dropped.
  std::string rows =
      "  %i = net.constant dense<[[1], [4], [1], [9], [-3], [0]]> : tensor<6x1xi32>\n  %r = net.scatter ";
  // Boxes overlap, and lie outside in part.
  std::string boxes =
      "  %i = net.constant dense<[[1, 2], [2, 3], [4, 5], [-1, -1]]> : tensor<4x2xi64>\n  %r = net.scatter ";
  for (const char *kind : {"add", "assign"}) {
    check({std::string(kind) + " rows", {{5, 3}, {6, 3}}, rows + kind + kScatterRows, {5, 3}});
    check({std::string(kind) + " boxes", {{5, 7}, {4, 2, 3}}, boxes + kind + kScatterBoxes, {5, 7}});
  }
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

static const char *const kShifted = "  %m = net.reduce max %p0 dims = [1] : tensor<3x4xf64> -> tensor<3xf64>\n"
                                    "  %b = net.broadcast %m dims = [0] : tensor<3xf64> -> tensor<3x4xf64>\n"
                                    "  %s = net.subtract %p0, %b : tensor<3x4xf64>\n"
                                    "  %e = net.exponential %s : tensor<3x4xf64>\n"
                                    "  %t = net.reduce sum %e dims = [1] : tensor<3x4xf64> -> tensor<3xf64>\n";

TEST(Derivatives, ShiftedExponentials) {
  std::string shifted = kShifted;
  check({"softmax",
         {{3, 4}},
         shifted + "  %d = net.broadcast %t dims = [0] : tensor<3xf64> -> tensor<3x4xf64>\n  %r = net.divide %e, %d : "
                   "tensor<3x4xf64>",
         {3, 4}});
  check({"logsumexp",
         {{3, 4}},
         shifted + "  %l = net.log %t : tensor<3xf64>\n  %r = net.add %l, %m : tensor<3xf64>",
         {3}});
  // These depend on the maximum: dropping its gradient would be wrong.
  check({"exponentials alone", {{3, 4}}, shifted + "  %r = net.multiply %e, %e : tensor<3x4xf64>", {3, 4}});
  check({"logsumexp less twice the maximum",
         {{3, 4}},
         shifted + "  %l = net.log %t : tensor<3xf64>\n  %r = net.subtract %l, %m : tensor<3xf64>",
         {3}});
  check({"quotients across rows",
         {{4, 4}},
         "  %m = net.reduce max %p0 dims = [1] : tensor<4x4xf64> -> tensor<4xf64>\n"
         "  %b = net.broadcast %m dims = [0] : tensor<4xf64> -> tensor<4x4xf64>\n"
         "  %s = net.subtract %p0, %b : tensor<4x4xf64>\n  %e = net.exponential %s : tensor<4x4xf64>\n"
         "  %t = net.reduce sum %e dims = [1] : tensor<4x4xf64> -> tensor<4xf64>\n"
         "  %d = net.broadcast %t dims = [1] : tensor<4xf64> -> tensor<4x4xf64>\n  %r = net.divide %e, %d : "
         "tensor<4x4xf64>",
         {4, 4}});
  check({"sums over rows",
         {{3, 4}},
         shifted + "  %u = net.reduce sum %e dims = [0, 1] : tensor<3x4xf64> -> tensor<f64>\n"
                   "  %d = net.broadcast %u dims = [] : tensor<f64> -> tensor<3x4xf64>\n  %r = net.divide %e, %d : "
                   "tensor<3x4xf64>",
         {3, 4}});
}

TEST(Derivatives, ValueUsedManyTimes) {
  check({"uses",
         {{4}},
         "  %a = net.sine %p0 : tensor<4xf64>\n  %b = net.multiply %a, %p0 : tensor<4xf64>\n"
         "  %c = net.exponential %a : tensor<4xf64>\n  %d = net.add %b, %c : tensor<4xf64>\n"
         "  %r = net.multiply %d, %a : tensor<4xf64>",
         {4}});
}

TEST(Derivatives, DynamicSlice) {
  // A box that is clamped, and one that spans a dimension whole.
  for (const char *start : {"1", "9", "-4"}) {
    std::string place = std::string("  %i = net.constant dense<") + start + "> : tensor<i32>\n";
    check(
        {"dynamic_slice",
         {{4, 5}},
         place + "  %r = net.dynamic_slice %p0[%i, %i] : tensor<4x5xf64>, tensor<i32>, tensor<i32> -> tensor<4x2xf64>",
         {4, 2}});
    check({"dynamic_update_slice",
           {{4, 5}, {2, 5}},
           place + "  %r = net.dynamic_update_slice %p0, %p1[%i, %i] : tensor<4x5xf64>, tensor<2x5xf64>, tensor<i32>, "
                   "tensor<i32>",
           {4, 5}});
  }
}

//===----------------------------------------------------------------------===//
// Order and matrices
//===----------------------------------------------------------------------===//

TEST(Derivatives, Reverse) {
  check({"reverse", {{2, 3, 4}}, "  %r = net.reverse %p0 dims = [2, 0] : tensor<2x3x4xf64>", {2, 3, 4}});
}

TEST(Derivatives, TriangularSolve) {
  // The diagonal keeps away from zero; what is above it is not read.
  check({"triangular_solve",
         {{2, 3, 3}, {2, 3, 4}},
         "  %row = net.iota dim = 1 : tensor<2x3x3xi32>\n  %column = net.iota dim = 2 : tensor<2x3x3xi32>\n"
         "  %on = net.compare eq, %row, %column : tensor<2x3x3xi32> -> tensor<2x3x3xi1>\n"
         "  %c = net.constant dense<3.0> : tensor<2x3x3xf64>\n  %sum = net.add %p0, %c : tensor<2x3x3xf64>\n"
         "  %a = net.select %on, %sum, %p0 : tensor<2x3x3xi1>, tensor<2x3x3xf64>\n"
         "  %r = net.triangular_solve %a, %p1 : tensor<2x3x3xf64>, tensor<2x3x4xf64>",
         {2, 3, 4}});
}

TEST(Derivatives, Cholesky) {
  check(
      {"cholesky",
       {{2, 3, 3}},
       "  %square = net.dot %p0, %p0 batch = [0] x [0] contract = [2] x [2] : tensor<2x3x3xf64>, tensor<2x3x3xf64> -> "
       "tensor<2x3x3xf64>\n"
       "  %row = net.iota dim = 1 : tensor<2x3x3xi32>\n  %column = net.iota dim = 2 : tensor<2x3x3xi32>\n"
       "  %on = net.compare eq, %row, %column : tensor<2x3x3xi32> -> tensor<2x3x3xi1>\n"
       "  %c = net.constant dense<1.0> : tensor<2x3x3xf64>\n  %sum = net.add %square, %c : tensor<2x3x3xf64>\n"
       "  %a = net.select %on, %sum, %square : tensor<2x3x3xi1>, tensor<2x3x3xf64>\n"
       "  %r = net.cholesky %a : tensor<2x3x3xf64>",
       {2, 3, 3}});
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

TEST(Derivatives, LoopsOverLayers) {
  // A carried value, layers taken from a stack, a parameter that all iterations read, and the iterations' values as a
  // stack.
  for (const char *order : {"", " reverse"})
    check({"layers",
           {{3, 4}, {5, 4, 4}, {4}},
           std::string("  %i = net.loop count = 5") + order + R"mlir(
  %c = net.carry %p0 in %i : tensor<3x4xf64>
  %w = net.take %p1 in %i : tensor<5x4x4xf64> -> tensor<4x4xf64>
  %d = net.dot %c, %w batch = [] x [] contract = [1] x [0] : tensor<3x4xf64>, tensor<4x4xf64> -> tensor<3x4xf64>
  %b = net.broadcast %p2 dims = [1] : tensor<4xf64> -> tensor<3x4xf64>
  %m = net.multiply %d, %b : tensor<3x4xf64>
  %t = net.tanh %m : tensor<3x4xf64>
  %n = net.convert %i : tensor<i32> -> tensor<f64>
  %nb = net.broadcast %n dims = [] : tensor<f64> -> tensor<3x4xf64>
  %v = net.multiply %t, %nb : tensor<3x4xf64>
  %s = net.add %t, %c : tensor<3x4xf64>
  %y = net.next %s for %c : tensor<3x4xf64>
  %all = net.stack %v in %i : tensor<3x4xf64> -> tensor<5x3x4xf64>
  net.end_loop %i
  %last = net.reshape %y : tensor<3x4xf64> -> tensor<1x3x4xf64>
  %r = net.concatenate %all, %last dim = 0 : tensor<5x3x4xf64>, tensor<1x3x4xf64> -> tensor<6x3x4xf64>)mlir",
           {6, 3, 4},
           -1,
           1});
}

TEST(Derivatives, LoopsThatExchangeWhatTheyCarry) {
  // Both values change at once, and only the sum over the iterations is read after the loop.
  check({"exchange",
         {{4}, {4}, {4}},
         R"mlir(  %i = net.loop count = 3
  %a = net.carry %p0 in %i : tensor<4xf64>
  %b = net.carry %p1 in %i : tensor<4xf64>
  %s = net.sine %a : tensor<4xf64>
  %m = net.multiply %s, %b : tensor<4xf64>
  %k = net.multiply %m, %p2 : tensor<4xf64>
  %x = net.next %b for %a : tensor<4xf64>
  %y = net.next %k for %b : tensor<4xf64>
  %r = net.total %k in %i : tensor<4xf64>
  net.end_loop %i)mlir",
         {4}});
}

TEST(Derivatives, LoopsThatBeginWithConstants) {
  check({"constant",
         {{6, 4}},
         R"mlir(  %zero = net.constant dense<0.5> : tensor<4xf64>
  %i = net.loop count = 6
  %h = net.carry %zero in %i : tensor<4xf64>
  %x = net.take %p0 in %i : tensor<6x4xf64> -> tensor<4xf64>
  %m = net.multiply %x, %h : tensor<4xf64>
  %t = net.sine %m : tensor<4xf64>
  %a = net.add %t, %x : tensor<4xf64>
  %r = net.next %a for %h : tensor<4xf64>
  net.end_loop %i)mlir",
         {4}});
}

TEST(Derivatives, LoopsInLoops) {
  check({"nested",
         {{4}, {2, 3, 4}, {2, 4}, {4}},
         R"mlir(  %i = net.loop count = 2
  %c = net.carry %p0 in %i : tensor<4xf64>
  %w = net.take %p1 in %i : tensor<2x3x4xf64> -> tensor<3x4xf64>
  %v = net.take %p2 in %i : tensor<2x4xf64> -> tensor<4xf64>
  %e = net.sine %v : tensor<4xf64>
  %j = net.loop count = 3 reverse
  %d = net.carry %c in %j : tensor<4xf64>
  %x = net.take %w in %j : tensor<3x4xf64> -> tensor<4xf64>
  %m = net.multiply %d, %x : tensor<4xf64>
  %n = net.multiply %m, %e : tensor<4xf64>
  %o = net.multiply %n, %p3 : tensor<4xf64>
  %q = net.sine %o : tensor<4xf64>
  %f = net.add %q, %d : tensor<4xf64>
  %g = net.next %f for %d : tensor<4xf64>
  %u = net.stack %q in %j : tensor<4xf64> -> tensor<3x4xf64>
  net.end_loop %j
  %h = net.cosine %g : tensor<4xf64>
  %y = net.next %h for %c : tensor<4xf64>
  %all = net.stack %u in %i : tensor<3x4xf64> -> tensor<2x3x4xf64>
  net.end_loop %i
  %flat = net.reshape %all : tensor<2x3x4xf64> -> tensor<6x4xf64>
  %last = net.reshape %y : tensor<4xf64> -> tensor<1x4xf64>
  %r = net.concatenate %flat, %last dim = 0 : tensor<6x4xf64>, tensor<1x4xf64> -> tensor<7x4xf64>)mlir",
         {7, 4},
         -1,
         1});
}
