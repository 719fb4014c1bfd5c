//===- InPlaceTest.cpp - results where operands were ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that write over what they read, written out by hand.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Emit/Emit.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Emit/EmitTest.h"
#include "test/unit/Emit/KernelCoverage.h"
#include "test/unit/Emit/PackageProgram.h"
#include "test/unit/Runtime/TempFolder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using evaluate::Tensor;

namespace {

class InPlace : public EmitTest {
protected:
  /// Schedules a serial module and opens its package.
  std::optional<PackageProgram> compile(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    schedule::buildPipeline(manager);
    emit::EmitOptions options;
    options.path = folder / "package";
    options.targets = {"native"};
    if (!module || failed(manager.run(*module)) || failed(emit::emitPackage(*module, nullptr, options)))
      return std::nullopt;
    llvm::Expected<PackageProgram> program = PackageProgram::open(options.path);
    if (!program)
      ADD_FAILURE() << llvm::toString(program.takeError());
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

  Tensor make(ArrayRef<int64_t> shape, ArrayRef<double> numbers) {
    Tensor tensor(RankedTensorType::get(shape, Float64Type::get(&context)));
    for (auto [entry, number] : llvm::zip_equal(tensor.data, numbers))
      entry.f = number;
    return tensor;
  }

  static std::vector<double> toNumbers(const Tensor &tensor) {
    std::vector<double> numbers;
    for (evaluate::Element element : tensor.data)
      numbers.push_back(element.f);
    return numbers;
  }

  std::vector<double> getVariable(PackageProgram &program, const std::string &name, ArrayRef<int64_t> shape) {
    return toNumbers(
        llvm::cantFail(program.getVariable(name, RankedTensorType::get(shape, Float64Type::get(&context)))));
  }

  /// The number of results that overwrite an operand.
  int64_t countInPlace() {
    int64_t count = 0;
    module->walk([&](dist::KernelOp kernel) {
      if (auto inPlace = kernel.getInPlace())
        count += llvm::count_if(*inPlace, [](int64_t input) { return input >= 0; });
    });
    return count;
  }

  TempFolder folder;
  OwningOpRef<ModuleOp> module;
};

} // namespace

// The new value of @b is known before @b is read for the new value of @a.
TEST_F(InPlace, ScalarsChangePlaces) {
  std::optional<PackageProgram> program = compile(R"(
    net.variable parameter @a : tensor<f64>
    net.variable parameter @b : tensor<f64>
    func.func @step() {
      %a = net.read @a : tensor<f64>
      %b = net.read @b : tensor<f64>
      net.assign @b, %a : tensor<f64>
      %difference = net.subtract %b, %a : tensor<f64>
      net.assign @a, %difference : tensor<f64>
      return
    })");
  ASSERT_TRUE(program);
  EXPECT_EQ(countInPlace(), 2);
  program->setVariable("a", make({}, {3}));
  program->setVariable("b", make({}, {10}));
  auto results = program->run({}, {});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(getVariable(*program, "a", {}), std::vector<double>{7});
  EXPECT_EQ(getVariable(*program, "b", {}), std::vector<double>{3});
}

// The same with one number per row, known when the row has been summed.
TEST_F(InPlace, RowsChangePlaces) {
  std::optional<PackageProgram> program = compile(R"(
    net.variable parameter @a : tensor<2xf64>
    net.variable parameter @b : tensor<2xf64>
    func.func @step(%x: tensor<2x3xf64>) -> tensor<2xf64> {
      %a = net.read @a : tensor<2xf64>
      %b = net.read @b : tensor<2xf64>
      %sum = net.reduce sum %x dims = [1] : tensor<2x3xf64> -> tensor<2xf64>
      %newB = net.multiply %sum, %a : tensor<2xf64>
      %newA = net.add %sum, %b : tensor<2xf64>
      %last = net.subtract %b, %sum : tensor<2xf64>
      net.assign @b, %newB : tensor<2xf64>
      net.assign @a, %newA : tensor<2xf64>
      return %last : tensor<2xf64>
    })");
  ASSERT_TRUE(program);
  EXPECT_EQ(countInPlace(), 2);
  program->setVariable("a", make({2}, {2, 3}));
  program->setVariable("b", make({2}, {10, 20}));
  auto results =
      program->run(make({2, 3}, {1, 2, 3, 4, 5, 6}), module->lookupSymbol<func::FuncOp>("step").getResultTypes());
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  // The sums are 6 and 15.
  EXPECT_EQ(toNumbers(results->front()), (std::vector<double>{4, 5}));
  EXPECT_EQ(getVariable(*program, "a", {2}), (std::vector<double>{16, 35}));
  EXPECT_EQ(getVariable(*program, "b", {2}), (std::vector<double>{12, 45}));
}
