//===- ConventionsTest.cpp - derivatives where there are none -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One test per line of docs/reference/derivatives.md. Expected numbers are those of jax.grad in JAX 0.10.2 unless the
// page says that the convention is another.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Train/Gradients.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace meshwright;
using namespace meshwright::train;

using Numbers = std::vector<double>;
static const double kInf = INFINITY, kNaN = std::nan("");

/// Checks the gradients of a function at a point, bit for bit but for NaN and the sign of zero.
static void expectGradients(const Function &function, const std::vector<Numbers> &points,
                            const std::vector<Numbers> &gradients) {
  Differentiated program(function);
  ASSERT_TRUE(program.isValid()) << function.body;
  for (size_t index = 0; index < points.size(); ++index)
    for (size_t at = 0; at < points[index].size(); ++at)
      program.parameter(index).data[at].f = points[index][at];
  for (size_t index = 0; index < gradients.size(); ++index) {
    evaluate::Tensor gradient = program.gradient(index);
    for (size_t at = 0; at < gradients[index].size(); ++at) {
      double found = gradient.data[at].f, expected = gradients[index][at];
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << function.name << ", parameter " << index << ", element " << at;
      else
        EXPECT_DOUBLE_EQ(found, expected) << function.name << ", parameter " << index << ", element " << at;
    }
  }
}

/// A function of one operand, at points.
static void expectUnary(const std::string &name, const Numbers &points, const Numbers &gradients) {
  auto size = static_cast<int64_t>(points.size());
  std::string type = printType({size});
  expectGradients({name, {{size}}, "  %r = net." + name + " %p0 : " + type, {size}}, {points}, {gradients});
}

static void expectBinary(const std::string &name, const std::vector<Numbers> &points,
                         const std::vector<Numbers> &gradients) {
  auto size = static_cast<int64_t>(points.front().size());
  std::string type = printType({size});
  expectGradients({name, {{size}, {size}}, "  %r = net." + name + " %p0, %p1 : " + type, {size}}, points, gradients);
}

/// A function of a parameter and a constant.
static void expectWithConstant(const std::string &name, const std::string &constant, bool constantFirst,
                               const Numbers &points, const Numbers &gradients) {
  auto size = static_cast<int64_t>(points.size());
  std::string type = printType({size});
  // A scalar that is broadcast, as frameworks write it.
  std::string body = "  %s = net.constant dense<" + constant +
                     "> : tensor<f64>\n  %c = net.broadcast %s dims = [] : tensor<f64> -> " + type + "\n  %r = net." +
                     name + (constantFirst ? " %c, %p0 : " : " %p0, %c : ") + type;
  expectGradients({name, {{size}}, body, {size}}, {points}, {gradients});
}

TEST(Conventions, ComparedWithAConstant) {
  expectWithConstant("maximum", "0.0", false, {-1, 0, -0.0, 1, kNaN}, {0, 0, 0, 1, 0});
  expectWithConstant("maximum", "0.0", true, {-1, 0, 1}, {0, 0, 1});
  expectWithConstant("minimum", "6.0", false, {5, 6, 7}, {1, 0, 0});
}

TEST(Conventions, TiesOfTwoValues) {
  expectBinary("maximum", {{1, 2, 3}, {2, 2, 2}}, {{0, 0.5, 1}, {1, 0.5, 0}});
  expectBinary("minimum", {{1, 2, 3}, {2, 2, 2}}, {{1, 0.5, 0}, {0, 0.5, 1}});
  expectBinary("maximum", {{kNaN, 1}, {1, kNaN}}, {{0, 0}, {0, 0}});
}

TEST(Conventions, TiesOfReductions) {
  std::string body = " %p0 dims = [1] : tensor<2x4xf64> -> tensor<2xf64>";
  expectGradients({"max", {{2, 4}}, "  %r = net.reduce max" + body, {2}}, {{1, 3, 3, 2, 5, 5, 5, 5}},
                  {{0, 0.5, 0.5, 0, 0.25, 0.25, 0.25, 0.25}});
  expectGradients({"min", {{2, 4}}, "  %r = net.reduce min" + body, {2}}, {{1, 3, 1, 2, 5, 5, 5, 5}},
                  {{0.5, 0, 0.5, 0, 0.25, 0.25, 0.25, 0.25}});
  expectGradients({"arg_reduce",
                   {{3}},
                   "  %r, %i = net.arg_reduce max %p0 dim = 0 : tensor<3xf64> -> tensor<f64>, tensor<i32>",
                   {}},
                  {{1, 3, 3}}, {{0, 1, 0}});
}

TEST(Conventions, TiesOfWindows) {
  std::string body = " %p0 sizes = [3] strides = [2] low = [0] high = [0] base_dilation = [1] window_dilation = [1] : "
                     "tensor<5xf64> -> tensor<2xf64>";
  expectGradients({"max", {{5}}, "  %r = net.reduce_window max" + body, {2}}, {{3, 3, 1, 2, 2}}, {{1, 0, 0, 1, 0}});
  expectGradients({"min", {{5}}, "  %r = net.reduce_window min" + body, {2}}, {{1, 0, 0, 0, 4}}, {{0, 1, 1, 0, 0}});
}

TEST(Conventions, ReductionOfNaN) {
  expectGradients({"max", {{2}}, "  %r = net.reduce max %p0 dims = [0] : tensor<2xf64> -> tensor<f64>", {}},
                  {{kNaN, 1}}, {{0, 0}});
}

TEST(Conventions, ProductsWithZeros) {
  expectGradients(
      {"product", {{3, 3}}, "  %r = net.reduce product %p0 dims = [1] : tensor<3x3xf64> -> tensor<3xf64>", {3}},
      {{1, 2, 3, 2, 0, 3, 0, 0, 5}}, {{6, 3, 2, 0, 6, 0, 0, 0, 0}});
}

TEST(Conventions, BranchPoints) {
  expectUnary("abs", {-2, 0, 3}, {-1, 1, 1});
  expectUnary("sign", {-2, 0, 3}, {0, 0, 0});
  expectUnary("floor", {-2, 0, 0.5}, {0, 0, 0});
  expectUnary("ceil", {-2, 0, 0.5}, {0, 0, 0});
  expectUnary("round_nearest_even", {-2, 0, 0.5}, {0, 0, 0});
}

TEST(Conventions, EdgesOfDomains) {
  expectUnary("sqrt", {0, 4, -1}, {kInf, 0.25, kNaN});
  expectUnary("rsqrt", {0, 4, -1}, {-kInf, -0.0625, kNaN});
  expectUnary("cbrt", {0, 8, -8}, {kInf, 1.0 / 12, 1.0 / 12});
  expectUnary("log", {0, 2, -1}, {kInf, 0.5, -1});
  expectUnary("log_plus_one", {-1, 1, -3}, {kInf, 0.5, -0.5});
  expectUnary("asin", {-1, 0, 1}, {kInf, 1, kInf});
  expectUnary("acos", {-1, 0, 1}, {-kInf, -1, -kInf});
  expectUnary("acosh", {1, 0}, {kInf, kNaN});
  expectUnary("atanh", {-1, 0, 1}, {kInf, 1, kInf});
  expectBinary("divide", {{1, 0}, {0, 2}}, {{kInf, 0.5}, {-kInf, 0}});
  expectBinary("atan2", {{0, 1, 0}, {0, 0, -1}}, {{kNaN, 0, -1}, {kNaN, -1, 0}});
}

TEST(Conventions, Saturation) {
  expectUnary("logistic", {-800, 0, 800}, {0, 0.25, 0});
  expectUnary("tanh", {-800, 0, 800}, {0, 1, 0});
  expectUnary("erf", {-40, 40}, {0, 0});
  expectUnary("exponential", {-kInf}, {0});
  expectUnary("asinh", {-1e300, 0, kInf}, {0, 1, 0});
  expectUnary("acosh", {1e300, kInf}, {0, 0});
}

TEST(Conventions, Power) {
  expectBinary("power", {{0, 0, 2, -1, 0, 0}, {0, 2, 0, 2, 1, -1}},
               {{kNaN, 0, 0, -2, 1, -kInf}, {0, 0, std::log(2), kNaN, 0, kNaN}});
  expectWithConstant("power", "0.0", false, {0, -3}, {0, 0});
  expectWithConstant("power", "1.0", false, {0, -3}, {1, 1});
  expectWithConstant("power", "2.0", false, {0, -3}, {0, -6});
  expectWithConstant("power", "0.5", false, {0, -3}, {kInf, kNaN});
}

TEST(Conventions, Remainder) { expectBinary("remainder", {{5, -5, 6}, {3, 3, 3}}, {{1, 1, 1}, {-1, 1, -2}}); }

TEST(Conventions, ConversionIsPassed) {
  expectGradients({"convert",
                   {{1}},
                   "  %b = net.convert %p0 : tensor<1xf64> -> tensor<1xbf16>\n  %r = net.convert %b : tensor<1xbf16> "
                   "-> tensor<1xf64>",
                   {1}},
                  {{1.001}}, {{1}});
  // Two bits of mantissa of 1.3 are 1.25, and the weight 1 is exact.
  expectGradients({"reduce_precision",
                   {{1}},
                   "  %c = net.constant dense<1.3> : tensor<1xf64>\n"
                   "  %b = net.reduce_precision %p0 exponent = 5 mantissa = 2 : tensor<1xf64>\n"
                   "  %r = net.multiply %b, %c : tensor<1xf64>",
                   {1}},
                  {{1.1}}, {{1.25}});
  // Through integers nothing passes.
  expectGradients({"convert",
                   {{1}},
                   "  %b = net.convert %p0 : tensor<1xf64> -> tensor<1xi32>\n  %i = net.convert %b : tensor<1xi32> -> "
                   "tensor<1xf64>\n  %r = net.add %i, %p0 : tensor<1xf64>",
                   {1}},
                  {{1.5}}, {{1}});
}

TEST(Conventions, SelectedValuesOnly) {
  expectGradients({"select",
                   {{2}, {2}},
                   "  %c = net.constant dense<[true, false]> : tensor<2xi1>\n  %r = net.select %c, %p0, %p1 : "
                   "tensor<2xi1>, tensor<2xf64>",
                   {2}},
                  {{1, 2}, {3, 4}}, {{1, 0}, {0, 1}});
}

TEST(Conventions, PositionsOutside) {
  // A gather clamps; what is read twice gets both cotangents.
  expectGradients(
      {"gather",
       {{3}},
       "  %i = net.constant dense<[[0], [5], [-7]]> : tensor<3x1xi32>\n  %r = net.gather %p0, %i <collapsedDims = [0], "
       "startIndexMap = [0], indexVectorDim = 1> sizes = [1] : tensor<3xf64>, tensor<3x1xi32> -> tensor<3xf64>",
       {3}},
      {{1, 2, 3}}, {{2, 0, 1}});
  // A scatter drops; of updates that meet the last is assigned.
  std::string numbers = " %p0, %i, %p1 <insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : "
                        "tensor<3xf64>, tensor<4x1xi32>, tensor<4xf64> -> tensor<3xf64>";
  std::string indices = "  %i = net.constant dense<[[1], [1], [0], [3]]> : tensor<4x1xi32>\n";
  expectGradients({"scatter", {{3}, {4}}, indices + "  %r = net.scatter assign" + numbers, {3}},
                  {{1, 2, 3}, {4, 5, 6, 7}}, {{0, 0, 1}, {0, 1, 1, 0}});
  expectGradients({"scatter", {{3}, {4}}, indices + "  %r = net.scatter add" + numbers, {3}}, {{1, 2, 3}, {4, 5, 6, 7}},
                  {{1, 1, 1}, {1, 1, 1, 0}});
  // Boxes are moved inside.
  expectGradients({"dynamic_slice",
                   {{3}},
                   "  %i = net.constant dense<5> : tensor<i32>\n  %r = net.dynamic_slice %p0[%i] : tensor<3xf64>, "
                   "tensor<i32> -> tensor<2xf64>",
                   {2}},
                  {{1, 2, 3}}, {{0, 1, 1}});
  expectGradients({"dynamic_update_slice",
                   {{3}, {2}},
                   "  %i = net.constant dense<-4> : tensor<i32>\n  %r = net.dynamic_update_slice %p0, %p1[%i] : "
                   "tensor<3xf64>, tensor<2xf64>, tensor<i32>",
                   {3}},
                  {{1, 2, 3}, {4, 5}}, {{0, 0, 1}, {1, 1}});
  // A sorted element gets the cotangent of its position in the order.
  expectGradients({"arg_sort",
                   {{3}},
                   "  %o = net.arg_sort %p0 dim = 0 : tensor<3xf64> -> tensor<3xi32>\n  %i = net.reshape %o : "
                   "tensor<3xi32> -> tensor<3x1xi32>\n  %s = net.gather %p0, %i <collapsedDims = [0], startIndexMap = "
                   "[0], indexVectorDim = 1> sizes = [1] : tensor<3xf64>, tensor<3x1xi32> -> tensor<3xf64>\n  %w = "
                   "net.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf64>\n  %r = net.multiply %s, %w : tensor<3xf64>",
                   {3}},
                  {{3, 1, 2}}, {{30, 10, 20}});
}

TEST(Conventions, UnreadTriangle) {
  expectGradients({"cholesky", {{2, 2}}, "  %r = net.cholesky %p0 : tensor<2x2xf64>", {2, 2}}, {{4, 7, 2, 5}},
                  {{0.1875, 0, 0.25, 0.25}});
  expectGradients({"triangular_solve",
                   {{2, 2}, {2, 1}},
                   "  %r = net.triangular_solve %p0, %p1 : tensor<2x2xf64>, tensor<2x1xf64>",
                   {2, 1}},
                  {{2, 9, 1, 4}, {2, 5}}, {{-0.375, 0, -0.25, -0.25}, {0.375, 0.25}});
}
