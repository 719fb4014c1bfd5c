//===- CompareSteps.cpp - a partitioned network beside the serial ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Partition/CompareSteps.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/Simulate/Simulator.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Partition/RandomTensor.h"

using namespace mlir;
using namespace meshwright;
using evaluate::Tensor;
using evaluate::Tensors;

void meshwright::test::compareSteps(Random &random, ModuleOp serial, ModuleOp partitioned, bool special) {
  auto draw = special ? makeSpecialTensor : makeTensor;
  auto program = evaluate::Program::create(serial);
  auto simulator = simulate::Simulator::create(partitioned);
  ASSERT_TRUE(succeeded(program) && succeeded(simulator));
  for (auto variable : serial.getOps<net::VariableOp>()) {
    Tensor value = draw(random, variable.getType());
    program->variables[variable.getSymName().str()] = value;
    ASSERT_TRUE(succeeded(simulator->setVariable(variable.getSymName(), value)));
  }
  for (int step = 0; step < 2; ++step) {
    Tensors inputs;
    for (Type type : program->getFunction().getArgumentTypes())
      inputs.push_back(draw(random, type));
    auto expected = program->run(inputs);
    auto actual = simulator->run(inputs);
    ASSERT_TRUE(succeeded(expected) && succeeded(actual)) << print(partitioned);
    for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(*actual, *expected)))
      ASSERT_LE(getDistance(std::get<0>(pair), std::get<1>(pair)), 1e-11)
          << "result " << index << " of step " << step << "\n"
          << print(partitioned);
    for (auto &[name, value] : program->variables) {
      auto whole = simulator->getVariable(name);
      ASSERT_TRUE(succeeded(whole)) << print(partitioned);
      ASSERT_LE(getDistance(*whole, value), 1e-11) << name << " after step " << step << "\n" << print(partitioned);
    }
  }
}

test::StepsTest::StepsTest() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, dist::DistDialect, net::NetDialect>();
  registerNetSharding(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.disableMultithreading();
}

bool test::StepsTest::complete(ModuleOp module) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  PassManager manager(&context);
  manager.addPass(meshwright::complete::createPropagatePass());
  manager.addPass(meshwright::complete::createVerifyPass());
  if (succeeded(manager.run(module)))
    return true;
  EXPECT_TRUE(StringRef(message).contains("slices of axis \"micro\"")) << message << "\n" << print(module);
  return false;
}
