//===- EmptyValuesTest.cpp - every operation on nothing -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through the register of operations (test/lib/Operations) with sizes that are 0 now and then: all cases in which
// an operand or a result has no elements are one network, which runs as a package and is compared with the plain
// interpreter, and whose kernels are compared with those of an emulated GPU. MESHWRIGHT_TEST_SEED says which cases.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/Targets.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/EmulatedGpu/KernelComparison.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/lib/Operations/OperationCases.h"
#include "test/unit/Emit/PackageProgram.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Partition/RandomTensor.h"
#include "test/unit/Runtime/TempFolder.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using evaluate::Tensor;

static bool isEmpty(Type type) { return cast<RankedTensorType>(type).getNumElements() == 0; }

namespace {

/// One function of many cases: their operands are its arguments, and their results are returned.
class CaseCollection {
public:
  explicit CaseCollection(MLIRContext &context)
      : module(ModuleOp::create(UnknownLoc::get(&context))), builder(&context) {
    builder.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(builder, module->getLoc(), "step", builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }

  /// Adds the operation of a case's module, after the constants that it reads, with its operands' numbers.
  void add(Operation *op, ArrayRef<Tensor> operands) {
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip_equal(op->getBlock()->getArguments(), operands)) {
      mapping.map(argument, function.front().addArgument(argument.getType(), op->getLoc()));
      inputs.push_back(operand);
    }
    for (Operation &constant : llvm::make_range(op->getBlock()->begin(), op->getIterator()))
      builder.clone(constant, mapping);
    llvm::append_range(results, builder.clone(*op, mapping)->getResults());
  }

  /// Ends the function.
  ModuleOp finish() {
    func::ReturnOp::create(builder, module->getLoc(), results);
    function.setFunctionType(
        builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
    return *module;
  }

  func::FuncOp function;
  std::vector<Tensor> inputs;
  SmallVector<Value> results;

private:
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
};

class EmptyValues : public ::testing::Test {
protected:
  EmptyValues() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, dist::DistDialect, net::NetDialect>();
    emit::registerKernelDialects(registry);
    registerNetCosts(registry);
    registerNetKernels(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Draws cases of the family until three have to do with nothing, or gives up.
  void collect(const CaseFamily &family, uint64_t index, CaseCollection &collection);

  MLIRContext context;
  std::set<std::string> seen;
};

} // namespace

void EmptyValues::collect(const CaseFamily &family, uint64_t index, CaseCollection &collection) {
  constexpr int64_t kRounds = 40, kCases = 3;
  for (int64_t round = 0, found = 0; round < kRounds && found < kCases; ++round) {
    Random random(90000 + index * 1000 + static_cast<uint64_t>(round));
    CaseSource source(random, {0, 1, 2, 3});
    OperationCase drawn = family.draw(source);
    // Cases that are illegal with such sizes are rejected by the operation's verifier.
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> module = parseCase(drawn, context);
    if (!module)
      continue;
    Operation *op = getOperation(*module);
    if (llvm::none_of(op->getOperandTypes(), isEmpty) && llvm::none_of(op->getResultTypes(), isEmpty))
      continue;
    collection.add(op, drawOperands(drawn, llvm::to_vector(op->getBlock()->getArgumentTypes()), random));
    seen.insert(family.operation);
    ++found;
  }
}

TEST_F(EmptyValues, AreWhatTheInterpreterComputes) {
  CaseCollection collection(context);
  for (auto [index, family] : llvm::enumerate(getCaseFamilies()))
    collect(family, index, collection);
  ModuleOp module = collection.finish();
  auto reference = evaluate::Program::create(module);
  ASSERT_TRUE(succeeded(reference));
  auto expected = reference->run(collection.inputs);
  ASSERT_TRUE(succeeded(expected));

  OwningOpRef<ModuleOp> scheduled = module.clone();
  PassManager manager(&context);
  schedule::buildPipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*scheduled)));
  TempFolder folder;
  emit::EmitOptions options;
  options.path = folder / "package";
  options.targets = {"native"};
  ASSERT_TRUE(succeeded(emit::emitPackage(*scheduled, /*serial=*/nullptr, options))) << print(module);
  llvm::Expected<PackageProgram> program = PackageProgram::open(options.path);
  ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());
  auto actual = program->run(collection.inputs, ValueRange(collection.results).getTypes());
  ASSERT_TRUE(static_cast<bool>(actual)) << llvm::toString(actual.takeError());
  for (auto [result, left, right] : llvm::zip_equal(collection.results, *actual, *expected)) {
    std::string text;
    llvm::raw_string_ostream(text) << *result.getDefiningOp();
    EXPECT_LE(getDistance(left, right), 1e-12) << text;
  }

  KernelComparison comparison(*scheduled, folder / ".");
  for (const std::string &problem : comparison.run(/*seed=*/1))
    ADD_FAILURE() << problem;
  EXPECT_GT(comparison.numCompared, 0);
  for (const CaseFamily &family : getCaseFamilies())
    EXPECT_TRUE(seen.contains(family.operation)) << family.operation << " has no case of nothing";
}
