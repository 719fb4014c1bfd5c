//===- TablesTest.cpp - kernels, constants and buffers of a package -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emit/Tables.h"
#include "dialects/Net/Net.h"
#include "lib/Emit/BufferTable.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

namespace {

class TablesTest : public ::testing::Test {
protected:
  TablesTest() { context.loadDialect<func::FuncDialect, dist::DistDialect, net::NetDialect>(); }

  OwningOpRef<ModuleOp> parse(const std::string &text) { return parseSourceString<ModuleOp>(text, &context); }
  template <typename OpT> static std::vector<OpT> list(ModuleOp module) {
    std::vector<OpT> ops;
    module.walk([&](OpT op) { ops.push_back(op); });
    return ops;
  }

  MLIRContext context;
};

/// A function with a kernel of one operation for each of `operations`.
std::string makeKernels(const std::vector<std::string> &operations) {
  std::string text = "func.func @f(%x: tensor<4xf32>) {\n";
  for (size_t index = 0; index != operations.size(); ++index)
    text += "%" + std::to_string(index) + " = dist.kernel(%x) {\n^bb0(%v: tensor<4xf32>):\n%r = net." +
            operations[index] + " %v : tensor<4xf32>\ndist.yield %r : tensor<4xf32>\n} {net.scope = \"s" +
            std::to_string(index) + "\"} : (tensor<4xf32>) -> tensor<4xf32>\n";
  return text + "return\n}\n";
}

} // namespace

// Tests that equal kernels are one, and that a kernel has one name in all packages, whatever comes before it.
TEST_F(TablesTest, KernelsAreNamedByTheirContent) {
  OwningOpRef<ModuleOp> first = parse(makeKernels({"tanh", "negate", "tanh"})), second = parse(makeKernels({"negate"}));
  ASSERT_TRUE(first && second);
  auto kernels = list<dist::KernelOp>(*first);
  KernelTable table, other;
  std::string tanh = table.getSymbol(kernels[0], 32).str(), negate = table.getSymbol(kernels[1], 64).str();
  EXPECT_EQ(tanh.substr(0, 5), "tanh_");
  EXPECT_EQ(tanh.size(), 5u + 12);
  EXPECT_NE(tanh.substr(5), negate.substr(7));
  EXPECT_EQ(table.getSymbol(kernels[2], 8), tanh);
  ASSERT_EQ(table.getJobs().size(), 2u);
  // That of the calls with the least.
  EXPECT_EQ(table.getJobs()[0].alignment, 8);
  EXPECT_EQ(table.getJobs()[1].alignment, 64);
  EXPECT_EQ(other.getSymbol(list<dist::KernelOp>(*second)[0], 64), negate);
}

// Tests that equal bytes are stored once, at multiples of 64, little-endian.
TEST_F(TablesTest, ConstantsAreStoredOnce) {
  ConstantTable table;
  auto get = [&](StringRef text) { return cast<ElementsAttr>(parseAttribute(text, &context)); };
  EXPECT_EQ(table.add(get("dense<[1, 258]> : tensor<2xi16>")), 0u);
  EXPECT_EQ(table.add(get("dense<-0.0> : tensor<f32>")), 64u);
  EXPECT_EQ(table.add(get("dense<[1, 258]> : tensor<2xui16>")), 0u);
  EXPECT_EQ(table.getBytes(), std::string("\1\0\2\1", 4) + std::string(60, '\0') + std::string("\0\0\0\x80", 4));
}

// Tests the places of variables, values, parts of values, and constants that variants of a function share.
TEST_F(TablesTest, BuffersAreWhereScheduleSays) {
  OwningOpRef<ModuleOp> module = parse(R"(
dist.mesh @mesh <["pp" = 2]>
net.variable parameter @w : tensor<8xf32>
net.variable parameter @elsewhere : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [1]}>}
net.variable parameter @lost : tensor<8xf32>
func.func @f() attributes {dist.on = {pp = array<i64: 0>}, dist.variables = {w = 64 : i64, elsewhere = 128 : i64}} {
  %c = net.constant {dist.offsets = array<i64: 256>} dense<1.0> : tensor<8xf32>
  %d = net.constant {dist.offsets = array<i64: 320>} dense<2.0> : tensor<8xf32>
  return
}
func.func @g() attributes {dist.variables = {w = 64 : i64}} {
  %c = net.constant {dist.offsets = array<i64: 256>} dense<1.0> : tensor<8xf32>
  return
})");
  ASSERT_TRUE(module);
  auto funcs = list<func::FuncOp>(*module);
  auto variables = list<net::VariableOp>(*module);
  auto constants = list<net::ConstantOp>(*module);
  Program program;
  BufferTable buffers(program);
  FailureOr<int64_t> w = buffers.addVariable(funcs[0], variables[0]);
  ASSERT_TRUE(succeeded(w));
  EXPECT_EQ(program.buffers(*w).offset(), 64u);
  EXPECT_EQ(program.buffers(*w).bytes(), 32u);
  EXPECT_EQ(buffers.getVariable(variables[0].getSymNameAttr()), *w);
  EXPECT_EQ(*buffers.addVariable(funcs[0], variables[1]), -1);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  EXPECT_TRUE(failed(buffers.addVariable(funcs[0], variables[2])));

  net::LoopNest nest = *net::LoopNest::find(funcs[0].getBody().front());
  buffers.enter(nest);
  uint32_t one = buffers.getLeaf(constants[0].getResult());
  EXPECT_NE(buffers.getLeaf(constants[1].getResult()), one);
  EXPECT_EQ(buffers.get(constants[0].getResult()), one);
  EXPECT_EQ(buffers.getFrom(constants[0].getResult(), 0), one);
  const Buffer &part = program.buffers(buffers.getFrom(constants[0].getResult(), 3));
  EXPECT_EQ(part.offset(), 256u + 3 * 4);
  EXPECT_EQ(part.shape(0), 5);
  size_t leaves = buffers.getNumLeaves();
  EXPECT_EQ(buffers.getLeaf(constants[2].getResult()), one);
  EXPECT_EQ(buffers.getNumLeaves(), leaves);
}
