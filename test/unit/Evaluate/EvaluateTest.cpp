//===- EvaluateTest.cpp - the plain interpreter itself --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that are easy to get wrong, written out by hand or computed by numpy and JAX.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/Evaluate/Safetensors.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static MLIRContext &getContext() {
  static MLIRContext *context = [] {
    auto *made = new MLIRContext(MLIRContext::Threading::DISABLED);
    made->loadDialect<func::FuncDialect, net::NetDialect>();
    return made;
  }();
  return *context;
}

/// The results of a function without arguments whose body is `body`, an operation that defines `%r`, and of what type.
static Tensor evaluateBody(const std::string &body, const std::string &type) {
  std::string text = "func.func @f() -> " + type + " {\n" + body + "\nreturn %r : " + type + "\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &getContext());
  if (!module)
    return Tensor();
  FailureOr<Program> program = Program::create(*module);
  FailureOr<Tensors> results = failure();
  if (succeeded(program))
    results = program->run({});
  return failed(results) ? Tensor() : results->front();
}

static void expectFloats(const std::string &body, const std::string &type, const std::vector<double> &expected) {
  Tensor found = evaluateBody(body, type);
  ASSERT_EQ(found.data.size(), expected.size()) << body;
  for (size_t at = 0; at < expected.size(); ++at) {
    if (std::isnan(expected[at]))
      EXPECT_TRUE(std::isnan(found.data[at].f)) << body << " at " << at;
    else
      EXPECT_EQ(found.data[at].f, expected[at]) << body << " at " << at;
  }
}

static void expectIntegers(const std::string &body, const std::string &type, const std::vector<int64_t> &expected) {
  Tensor found = evaluateBody(body, type);
  ASSERT_EQ(found.data.size(), expected.size()) << body;
  for (size_t at = 0; at < expected.size(); ++at)
    EXPECT_EQ(found.data[at].i, expected[at]) << body << " at " << at;
}

static std::string constant(const std::string &name, const std::string &value, const std::string &type) {
  return "%" + name + " = net.constant dense<" + value + "> : " + type + "\n";
}

TEST(Evaluate, BitsOfFloats) {
  expectIntegers(constant("x", "[1.0, -0.0, -2.5]", "tensor<3xf32>") +
                     "%r = net.bitcast_convert %x : tensor<3xf32> -> tensor<3xui32>",
                 "tensor<3xui32>", {0x3f800000, 0x80000000, 0xc0200000});
  expectIntegers(constant("x", "[1.0, -2.5]", "tensor<2xbf16>") +
                     "%r = net.bitcast_convert %x : tensor<2xbf16> -> tensor<2xi16>",
                 "tensor<2xi16>", {0x3f80, 0xc020 - 0x10000});
  expectFloats(constant("x", "[4607182418800017408, 9223372036854775808]", "tensor<2xui64>") +
                   "%r = net.bitcast_convert %x : tensor<2xui64> -> tensor<2xf64>",
               "tensor<2xf64>", {1, -0.0});
  expectFloats(constant("x", "[15360, -32768]", "tensor<2xi16>") +
                   "%r = net.bitcast_convert %x : tensor<2xi16> -> tensor<2xf16>",
               "tensor<2xf16>", {1, -0.0});
}

TEST(Evaluate, FloatsRoundOnceToTheirType) {
  // 1 + 2⁻⁸ lies between 1 and 1 + 2⁻⁷ of bf16, a tie that goes to the even 1; 1 + 3·2⁻⁸ goes up to 1 + 2⁻⁶.
  expectFloats(constant("x", "[1.0, 1.0]", "tensor<2xbf16>") +
                   constant("y", "[0.00390625, 0.01171875]", "tensor<2xbf16>") + "%r = net.add %x, %y : tensor<2xbf16>",
               "tensor<2xbf16>", {1, 1.015625});
  // A sum of f32 is rounded at its end, not at every step.
  expectFloats(constant("x", "[16777216.0, 1.0, 1.0]", "tensor<3xf32>") +
                   "%r = net.reduce sum %x dims = [0] : tensor<3xf32> -> tensor<f32>",
               "tensor<f32>", {16777218});
  // 65520 is the tie between the largest f16 and infinity.
  expectFloats(constant("x", "[65519.0, 65520.0, -1.0e9]", "tensor<3xf64>") +
                   "%r = net.convert %x : tensor<3xf64> -> tensor<3xf16>",
               "tensor<3xf16>", {65504, INFINITY, -INFINITY});
  expectFloats(constant("x", "[16777217, 16777219]", "tensor<2xi32>") +
                   "%r = net.convert %x : tensor<2xi32> -> tensor<2xf32>",
               "tensor<2xf32>", {16777216, 16777220});
  expectFloats(constant("x", "[18446744073709551615, 1]", "tensor<2xui64>") +
                   "%r = net.convert %x : tensor<2xui64> -> tensor<2xf64>",
               "tensor<2xf64>", {18446744073709551616.0, 1});
}

TEST(Evaluate, IntegersWrapBySignAndWidth) {
  expectIntegers(constant("x", "[127, -128, 100]", "tensor<3xi8>") + constant("y", "[1, -1, 100]", "tensor<3xi8>") +
                     "%r = net.add %x, %y : tensor<3xi8>",
                 "tensor<3xi8>", {-128, 127, -56});
  expectIntegers(constant("x", "[255, 3]", "tensor<2xui8>") + constant("y", "[2, 5]", "tensor<2xui8>") +
                     "%r = net.subtract %y, %x : tensor<2xui8>",
                 "tensor<2xui8>", {3, 2});
  expectIntegers(constant("x", "[-7, 7, 5, -128]", "tensor<4xi8>") + constant("y", "[2, -2, 0, -1]", "tensor<4xi8>") +
                     "%r = net.divide %x, %y : tensor<4xi8>",
                 "tensor<4xi8>", {-3, -3, -1, -128});
  expectIntegers(constant("x", "[-7, 7, 5]", "tensor<3xi8>") + constant("y", "[2, -2, 0]", "tensor<3xi8>") +
                     "%r = net.remainder %x, %y : tensor<3xi8>",
                 "tensor<3xi8>", {-1, 1, 5});
  expectIntegers(constant("x", "[-128, -128, 64, 1]", "tensor<4xi8>") + constant("y", "[1, 9, 1, 8]", "tensor<4xi8>") +
                     "%r = net.shift_right_arithmetic %x, %y : tensor<4xi8>",
                 "tensor<4xi8>", {-64, -1, 32, 0});
  expectIntegers(constant("x", "[-128, -128, 64]", "tensor<3xi8>") + constant("y", "[1, 8, 1]", "tensor<3xi8>") +
                     "%r = net.shift_right_logical %x, %y : tensor<3xi8>",
                 "tensor<3xi8>", {64, 0, 32});
  expectIntegers(constant("x", "[true, true, false]", "tensor<3xi1>") +
                     constant("y", "[true, false, false]", "tensor<3xi1>") + "%r = net.add %x, %y : tensor<3xi1>",
                 "tensor<3xi1>", {1, 1, 0});
  expectIntegers(constant("x", "[200, 1]", "tensor<2xui8>") + constant("y", "[100, 2]", "tensor<2xui8>") +
                     "%r = net.compare gt, %x, %y : tensor<2xui8> -> tensor<2xi1>",
                 "tensor<2xi1>", {1, 0});
}

TEST(Evaluate, ConversionsToIntegersCutAndSaturate) {
  expectIntegers(constant("x", "[-2.75, 300.0, -300.0, 0x7FC00000]", "tensor<4xf32>") +
                     "%r = net.convert %x : tensor<4xf32> -> tensor<4xi8>",
                 "tensor<4xi8>", {-2, 127, -128, 0});
  expectIntegers(constant("x", "[-1.0, 2.9, 300.0]", "tensor<3xf32>") +
                     "%r = net.convert %x : tensor<3xf32> -> tensor<3xui8>",
                 "tensor<3xui8>", {0, 2, 255});
  expectIntegers(constant("x", "[0.0, 0.5, -0.0]", "tensor<3xf32>") +
                     "%r = net.convert %x : tensor<3xf32> -> tensor<3xi1>",
                 "tensor<3xi1>", {0, 1, 0});
  expectIntegers(constant("x", "[256, -1]", "tensor<2xi32>") + "%r = net.convert %x : tensor<2xi32> -> tensor<2xui8>",
                 "tensor<2xui8>", {0, 255});
}

TEST(Evaluate, NaN) {
  std::string x = constant("x", "[0x7FC00000, 1.0, 0x7FC00000]", "tensor<3xf32>");
  std::string y = constant("y", "[1.0, 0x7FC00000, 0x7FC00000]", "tensor<3xf32>");
  double nan = std::nan("");
  expectFloats(x + y + "%r = net.maximum %x, %y : tensor<3xf32>", "tensor<3xf32>", {nan, nan, nan});
  expectFloats(x + "%r = net.reduce max %x dims = [0] : tensor<3xf32> -> tensor<f32>", "tensor<f32>", {nan});
  expectIntegers(x + y + "%r = net.compare ne, %x, %y : tensor<3xf32> -> tensor<3xi1>", "tensor<3xi1>", {1, 1, 1});
  expectIntegers(x + y + "%r = net.compare ge, %x, %y : tensor<3xf32> -> tensor<3xi1>", "tensor<3xi1>", {0, 0, 0});
  // In the total order NaN is the largest and equal to itself, and −0 is below 0.
  expectIntegers(x + y + "%r = net.compare ge, %x, %y total_order : tensor<3xf32> -> tensor<3xi1>", "tensor<3xi1>",
                 {1, 0, 1});
  expectIntegers(constant("x", "[-0.0, 0.0]", "tensor<2xf32>") + constant("y", "[0.0, -0.0]", "tensor<2xf32>") +
                     "%r = net.compare lt, %x, %y total_order : tensor<2xf32> -> tensor<2xi1>",
                 "tensor<2xi1>", {1, 0});
  expectIntegers(constant("x", "[1.0, 0x7FC00000, 5.0, 0x7FC00000]", "tensor<4xf32>") +
                     "%v, %r = net.arg_reduce min %x dim = 0 : tensor<4xf32> -> tensor<f32>, tensor<i32>",
                 "tensor<i32>", {1});
}

TEST(Evaluate, ArgReduceTakesTheFirst) {
  expectIntegers(constant("x", "[[1, 7, 7], [2, 2, 1]]", "tensor<2x3xi32>") +
                     "%v, %r = net.arg_reduce max %x dim = 1 : tensor<2x3xi32> -> tensor<2xi32>, tensor<2xi64>",
                 "tensor<2xi64>", {1, 0});
}

TEST(Evaluate, Layout) {
  std::string x = constant("x", "[[1, 2, 3], [4, 5, 6]]", "tensor<2x3xi32>");
  expectIntegers(x + "%r = net.transpose %x dims = [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>", "tensor<3x2xi32>",
                 {1, 4, 2, 5, 3, 6});
  expectIntegers(x + "%r = net.broadcast %x dims = [2, 0] : tensor<2x3xi32> -> tensor<3x1x2xi32>", "tensor<3x1x2xi32>",
                 {1, 4, 2, 5, 3, 6});
  expectIntegers(
      x + "%r = net.slice %x starts = [0, 0] limits = [2, 3] steps = [1, 2] : tensor<2x3xi32> -> tensor<2x2xi32>",
      "tensor<2x2xi32>", {1, 3, 4, 6});
  expectIntegers(x + constant("v", "0", "tensor<i32>") +
                     "%r = net.pad %x, %v low = [0, -1] high = [1, 0] interior = [0, 1] : tensor<2x3xi32>, tensor<i32> "
                     "-> tensor<3x4xi32>",
                 "tensor<3x4xi32>", {0, 2, 0, 3, 0, 5, 0, 6, 0, 0, 0, 0});
  expectIntegers("%r = net.iota dim = 0 : tensor<2x2xui8>", "tensor<2x2xui8>", {0, 0, 1, 1});
  expectIntegers(x + "%r = net.concatenate %x, %x dim = 1 : tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x6xi32>",
                 "tensor<2x6xi32>", {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
}

TEST(Evaluate, Product) {
  // numpy.einsum("bik,kbj->bij", ...) of arange.
  expectIntegers("%a = net.iota dim = 0 : tensor<12xi32>\n%x = net.reshape %a : tensor<12xi32> -> tensor<2x2x3xi32>\n"
                 "%y = net.reshape %a : tensor<12xi32> -> tensor<3x2x2xi32>\n"
                 "%r = net.dot %x, %y batch = [0] x [1] contract = [2] x [0] : tensor<2x2x3xi32>, tensor<3x2x2xi32> -> "
                 "tensor<2x2x2xi32>",
                 "tensor<2x2x2xi32>", {20, 23, 56, 68, 134, 155, 188, 218});
}

TEST(Evaluate, Reductions) {
  std::string x = constant("x", "[[1, -2, 3], [4, 5, -6]]", "tensor<2x3xi32>");
  expectIntegers(x + "%r = net.reduce min %x dims = [0] : tensor<2x3xi32> -> tensor<3xi32>", "tensor<3xi32>",
                 {1, -2, -6});
  expectIntegers(x + "%r = net.reduce product %x dims = [1] : tensor<2x3xi32> -> tensor<2xi32>", "tensor<2xi32>",
                 {-6, -120});
  // A reduction of nothing is the neutral element.
  expectIntegers(
      "%x = net.iota dim = 0 : tensor<0x2xui8>\n%r = net.reduce min %x dims = [0] : tensor<0x2xui8> -> tensor<2xui8>",
      "tensor<2xui8>", {255, 255});
}

TEST(Evaluate, Gather) {
  // The index vector is the first dimension of the indices, boxes are 2 × 1, positions are clamped: (0, 1), (1, 3), (1,
  // 0).
  expectIntegers("%a = net.iota dim = 0 : tensor<12xi32>\n%x = net.reshape %a : tensor<12xi32> -> tensor<3x4xi32>\n" +
                     constant("i", "[[0, 5, 1], [1, 3, -2]]", "tensor<2x3xi32>") +
                     "%r = net.gather %x, %i <offsetDims = [1], collapsedDims = [1], startIndexMap = [0, 1], "
                     "indexVectorDim = 0> sizes = [2, 1]"
                     " : tensor<3x4xi32>, tensor<2x3xi32> -> tensor<3x2xi32>",
                 "tensor<3x2xi32>", {1, 5, 7, 11, 4, 8});
  // With batching dimensions, and a component for the second operand dimension only.
  expectIntegers("%a = net.iota dim = 0 : tensor<6xi32>\n%x = net.reshape %a : tensor<6xi32> -> tensor<2x3xi32>\n" +
                     constant("i", "[[2, 0], [1, 9]]", "tensor<2x2xi32>") +
                     "%r = net.gather %x, %i <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = "
                     "[0], startIndexMap = [1],"
                     " indexVectorDim = 2> sizes = [1, 1] : tensor<2x3xi32>, tensor<2x2xi32> -> tensor<2x2xi32>",
                 "tensor<2x2xi32>", {2, 0, 4, 5});
}

TEST(Evaluate, Scatter) {
  std::string indices = constant("i", "[[1], [1], [-1], [3]]", "tensor<4x1xi32>");
  std::string updates =
      constant("u", "[10, 20, 30, 40]", "tensor<4xi32>") + constant("x", "[1, 2, 3]", "tensor<3xi32>");
  std::string rest = " %x, %i, %u <insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : "
                     "tensor<3xi32>, tensor<4x1xi32>, tensor<4xi32> -> tensor<3xi32>";
  // Updates outside are dropped; updates of one element are applied in order.
  expectIntegers(indices + updates + "%r = net.scatter add" + rest, "tensor<3xi32>", {1, 32, 3});
  expectIntegers(indices + updates + "%r = net.scatter assign" + rest, "tensor<3xi32>", {1, 20, 3});
  expectIntegers(indices + updates + "%r = net.scatter multiply" + rest, "tensor<3xi32>", {1, 400, 3});
  expectIntegers(indices + updates + "%r = net.scatter min" + rest, "tensor<3xi32>", {1, 2, 3});
  // A box that lies outside in part is dropped whole, as XLA does it.
  expectIntegers(constant("i", "[[2], [-1], [1]]", "tensor<3x1xi32>") +
                     constant("u", "[[10, 20], [30, 40], [50, 60]]", "tensor<3x2xi32>") +
                     constant("x", "[1, 2, 3]", "tensor<3xi32>") +
                     "%r = net.scatter assign %x, %i, %u <updateWindowDims = [1], scatterDimsToOperandDims = [0], "
                     "indexVectorDim = 1>"
                     " : tensor<3xi32>, tensor<3x1xi32>, tensor<3x2xi32> -> tensor<3xi32>",
                 "tensor<3xi32>", {1, 50, 60});
}

TEST(Evaluate, VariablesAreReadAtTheEntryAndAssignedAtTheExit) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    net.variable counter @n : tensor<i32> = <constant, 3.0, 0.0>
    func.func @f() -> tensor<i32> {
      %0 = net.read @n : tensor<i32>
      %1 = net.add %0, %0 : tensor<i32>
      net.assign @n, %1 : tensor<i32>
      return %0 : tensor<i32>
    })",
                                                             &getContext());
  FailureOr<Program> program = Program::create(*module);
  ASSERT_TRUE(succeeded(program));
  EXPECT_EQ((*program->run({}))[0].data[0].i, 3);
  EXPECT_EQ((*program->run({}))[0].data[0].i, 6);
  EXPECT_EQ(program->variables["n"].data[0].i, 12);
}

TEST(Evaluate, LoopsGoOnFromIterationToIteration) {
  // c = 10 c + w[i], with what c was before in every iteration.
  std::string start = constant("x", "7", "tensor<i32>") + constant("ten", "10", "tensor<i32>") +
                      constant("w", "[1, 2, 3]", "tensor<3xi32>");
  auto makeLoop = [&](const std::string &direction, const std::string &all) {
    return start + "%i = net.loop count = 3 " + direction +
           "\n%c = net.carry %x in %i : tensor<i32>\n"
           "%wi = net.take %w in %i : tensor<3xi32> -> tensor<i32>\n"
           "%t = net.multiply %ten, %c : tensor<i32>\n%n = net.add %t, %wi : tensor<i32>\n" +
           all + "\nnet.end_loop %i";
  };
  std::string next = "%r = net.next %n for %c : tensor<i32>", unused = "%y = net.next %n for %c : tensor<i32>\n";
  std::string all = unused + "%r = net.stack %c in %i : tensor<i32> -> tensor<3xi32>";
  std::string total = unused + "%r = net.total %n in %i : tensor<i32>";
  std::string numbers = unused + "%r = net.stack %i in %i : tensor<i32> -> tensor<3xi32>";
  expectIntegers(makeLoop("", next), "tensor<i32>", {7123});
  expectIntegers(makeLoop("reverse", next), "tensor<i32>", {7321});
  expectIntegers(makeLoop("", all), "tensor<3xi32>", {7, 71, 712});
  expectIntegers(makeLoop("reverse", all), "tensor<3xi32>", {732, 73, 7});
  expectIntegers(makeLoop("reverse", total), "tensor<i32>", {73 + 732 + 7321});
  expectIntegers(makeLoop("reverse", numbers), "tensor<3xi32>", {0, 1, 2});
}

TEST(Evaluate, LoopsInLoopsBeginAgain) {
  // The inner loop counts from the outer one's number; what it makes is added up.
  expectIntegers(constant("one", "1", "tensor<i32>") +
                     "%i = net.loop count = 3\n%j = net.loop count = 2\n"
                     "%c = net.carry %i in %j : tensor<i32>\n%n = net.add %c, %one : tensor<i32>\n"
                     "%e = net.next %n for %c : tensor<i32>\n%s = net.total %c in %j : tensor<i32>\nnet.end_loop %j\n"
                     "%p = net.multiply %s, %e : tensor<i32>\n"
                     "%r = net.stack %p in %i : tensor<i32> -> tensor<3xi32>\nnet.end_loop %i",
                 "tensor<3xi32>", {1 * 2, 3 * 3, 5 * 4});
}

TEST(Evaluate, SafetensorsKeepEveryType) {
  llvm::SmallString<64> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("tensors", "safetensors", path));
  std::map<std::string, Tensor> tensors;
  tensors["f"] = evaluateBody(constant("r", "[[1.5, 0x7FC0], [0xFF80, -0.0]]", "tensor<2x2xbf16>"), "tensor<2x2xbf16>");
  tensors["u"] = evaluateBody(constant("r", "[255, 1]", "tensor<2xui8>"), "tensor<2xui8>");
  tensors["i"] = evaluateBody(constant("r", "-5", "tensor<i64>"), "tensor<i64>");
  tensors["b"] = evaluateBody(constant("r", "[true, false]", "tensor<2xi1>"), "tensor<2xi1>");
  tensors["e"] = evaluateBody("%r = net.iota dim = 0 : tensor<0x3xf16>", "tensor<0x3xf16>");
  ASSERT_FALSE(static_cast<bool>(writeSafetensors(path, tensors)));
  auto read = readSafetensors(path, &getContext());
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  ASSERT_EQ(read->size(), tensors.size());
  for (auto &[name, tensor] : tensors) {
    ASSERT_EQ(read->at(name).type, tensor.type) << name;
    for (int64_t at = 0; at < tensor.size(); ++at)
      EXPECT_EQ(read->at(name).data[at].i, tensor.data[at].i) << name;
  }
  llvm::sys::fs::remove(path);
}
