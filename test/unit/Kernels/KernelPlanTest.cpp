//===- KernelPlanTest.cpp - kernels that have no plan ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the compiler lower to forms that can be planned; bodies by hand show the reason that is given for
// every other form.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/KernelPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshwright;

namespace {

/// A parallel operation over one dimension, and the head of a reduction of a matrix's columns.
const std::string parallel = R"(linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]} )";
const std::string reduceRows =
    R"(linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]} )";
const std::string reduceColumns =
    R"(linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
    iterator_types = ["reduction", "parallel"]} )";
const std::string add = R"({
  ^bb0(%in: f32, %sum: f32):
    %next = arith.addf %sum, %in : f32
    linalg.yield %next : f32
  })";
const std::string zeros = R"(
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
)";

class KernelPlanTest : public ::testing::Test {
protected:
  KernelPlanTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect, scf::SCFDialect,
                        tensor::TensorDialect>();
  }

  /// The reason why the body of a function, whose results leave the kernel, has no plan; empty where it has one.
  std::string getReason(const std::string &arguments, const std::string &body, const std::string &types) {
    std::string text = "func.func @kernel(" + arguments + ") -> (" + types + ") {\n" + body + "\n}";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return "";
    auto func = *module->getOps<func::FuncOp>().begin();
    Block &block = func.getBody().front();
    std::string reason;
    std::unique_ptr<schedule::KernelPlan> plan =
        schedule::KernelPlan::create(block, block.getTerminator()->getOperands(), reason);
    EXPECT_EQ(plan == nullptr, !reason.empty());
    return reason;
  }

  MLIRContext context;
};

TEST_F(KernelPlanTest, PlansOperationsByElementAndReductions) {
  EXPECT_EQ(getReason("%x: tensor<4x4xf32>",
                      zeros + "%r = " + reduceRows + "ins(%x : tensor<4x4xf32>) outs(%zeros : tensor<4xf32>) " + add +
                          " -> tensor<4xf32>\n%y = " + parallel +
                          "ins(%r : tensor<4xf32>) outs(%empty : tensor<4xf32>) {\n^bb0(%in: f32, %out: f32):\n"
                          "%n = arith.negf %in : f32\nlinalg.yield %n : f32\n} -> tensor<4xf32>\n"
                          "return %y : tensor<4xf32>",
                      "tensor<4xf32>"),
            "");
}

TEST_F(KernelPlanTest, RefusesConstantsWhoseElementsDiffer) {
  EXPECT_EQ(getReason("", "%c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>\nreturn %c : tensor<2xf32>",
                      "tensor<2xf32>"),
            "a constant has elements that differ");
}

TEST_F(KernelPlanTest, RefusesOtherOperations) {
  EXPECT_EQ(getReason("%x: tensor<4xf32>, %at: index",
                      "%y = tensor.extract_slice %x[%at] [2] [1] : tensor<4xf32> to tensor<2xf32>\n"
                      "return %y : tensor<2xf32>",
                      "tensor<2xf32>"),
            "tensor.extract_slice is no generic operation of one result");
}

TEST_F(KernelPlanTest, RefusesRegionsInBodies) {
  EXPECT_EQ(getReason("%x: tensor<4xf32>, %is: i1",
                      "%e = tensor.empty() : tensor<4xf32>\n%y = " + parallel +
                          "ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {\n^bb0(%in: f32, %out: f32):\n"
                          "%n = scf.if %is -> f32 {\nscf.yield %in : f32\n} else {\n%m = arith.negf %in : f32\n"
                          "scf.yield %m : f32\n}\nlinalg.yield %n : f32\n} -> tensor<4xf32>\n"
                          "return %y : tensor<4xf32>",
                      "tensor<4xf32>"),
            "scf.if stands in a body");
}

TEST_F(KernelPlanTest, RefusesEmptyResults) {
  EXPECT_EQ(getReason("%x: tensor<0xf32>",
                      "%e = tensor.empty() : tensor<0xf32>\n%y = " + parallel +
                          "ins(%x : tensor<0xf32>) outs(%e : tensor<0xf32>) {\n^bb0(%in: f32, %out: f32):\n"
                          "linalg.yield %in : f32\n} -> tensor<0xf32>\nreturn %y : tensor<0xf32>",
                      "tensor<0xf32>"),
            "a result is empty");
}

TEST_F(KernelPlanTest, RefusesReadsOfAnOutputWithoutReduction) {
  EXPECT_EQ(getReason("%x: tensor<4xf32>",
                      zeros + "%y = " + parallel + "ins(%x : tensor<4xf32>) outs(%zeros : tensor<4xf32>) " + add +
                          " -> tensor<4xf32>\nreturn %y : tensor<4xf32>",
                      "tensor<4xf32>"),
            "an operation without reduction reads its output");
}

TEST_F(KernelPlanTest, RefusesReductionsThatStartFromAnOperand) {
  EXPECT_EQ(getReason("%x: tensor<4x4xf32>, %start: tensor<4xf32>",
                      "%r = " + reduceRows + "ins(%x : tensor<4x4xf32>) outs(%start : tensor<4xf32>) " + add +
                          " -> tensor<4xf32>\nreturn %r : tensor<4xf32>",
                      "tensor<4xf32>"),
            "a reduction does not combine its accumulator once");
}

TEST_F(KernelPlanTest, RefusesReductionsOverNothing) {
  EXPECT_EQ(getReason("%x: tensor<4x0xf32>",
                      zeros + "%r = " + reduceRows + "ins(%x : tensor<4x0xf32>) outs(%zeros : tensor<4xf32>) " + add +
                          " -> tensor<4xf32>\nreturn %r : tensor<4xf32>",
                      "tensor<4xf32>"),
            "a reduction is over nothing");
}

TEST_F(KernelPlanTest, RefusesReductionsOfDifferentSize) {
  EXPECT_EQ(getReason("%x: tensor<4x4xf32>, %z: tensor<4x8xf32>",
                      zeros + "%r = " + reduceRows + "ins(%x : tensor<4x4xf32>) outs(%zeros : tensor<4xf32>) " + add +
                          " -> tensor<4xf32>\n%s = " + reduceRows +
                          "ins(%z : tensor<4x8xf32>) outs(%zeros : tensor<4xf32>) " + add +
                          " -> tensor<4xf32>\nreturn %r, %s : tensor<4xf32>, tensor<4xf32>",
                      "tensor<4xf32>, tensor<4xf32>"),
            "reductions are over domains of different size");
}

TEST_F(KernelPlanTest, RefusesReductionsThatAreNeitherOfRowsNorResults) {
  EXPECT_EQ(getReason("%x: tensor<4x4xf32>",
                      zeros + "%unread = " + reduceColumns + "ins(%x : tensor<4x4xf32>) outs(%zeros : tensor<4xf32>) " +
                          add + " -> tensor<4xf32>\nreturn %zeros : tensor<4xf32>",
                      "tensor<4xf32>"),
            "a reduction that is no row's is used inside");
}

} // namespace
