//===- LoopPackagesTest.cpp - packages of loops ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// That a package is as large for many iterations as for few, and does what the network says. Random loops, in random
// placements, are among the networks of RandomPackagesTest.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Emit/Emit.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "package.pb.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/unit/Emit/EmitTest.h"
#include "test/unit/Emit/PackageProgram.h"
#include "test/unit/Partition/RandomTensor.h"
#include "test/unit/Runtime/TempFolder.h"
#include <fstream>
#include <regex>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using evaluate::Tensors;

namespace {

/// A recurrent network with a loop in its loop. Hidden states and the numbers of the iterations are stacked; three
/// numbers, too few for 64 bytes, change their signs.
constexpr const char *kText = R"(
net.variable parameter @w : tensor<16x16xf64> = #net.init<constant, 0.1, 0.0>
func.func @step(%x: tensor<TRIPSx16xf64>, %y: tensor<TRIPSx3xf64>)
    -> (tensor<16xf64>, tensor<TRIPSx16xf64>, tensor<TRIPSxi32>, tensor<3xf64>, tensor<TRIPSx3xf64>) {
  %w = net.read @w : tensor<16x16xf64>
  %zero = net.constant dense<0.0> : tensor<16xf64>
  %few = net.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %i = net.loop count = TRIPS reverse
  %h = net.carry %zero in %i : tensor<16xf64>
  %s = net.carry %few in %i : tensor<3xf64>
  %xi = net.take %x in %i : tensor<TRIPSx16xf64> -> tensor<16xf64>
  %yi = net.take %y in %i : tensor<TRIPSx3xf64> -> tensor<3xf64>
  %j = net.loop count = 2
  %c = net.carry %h in %j : tensor<16xf64>
  %p = net.dot %w, %c batch = [] x [] contract = [1] x [0] : tensor<16x16xf64>, tensor<16xf64> -> tensor<16xf64>
  %q = net.add %p, %xi : tensor<16xf64>
  %t = net.tanh %q : tensor<16xf64>
  %n = net.next %t for %c : tensor<16xf64>
  net.end_loop %j
  %last = net.next %n for %h : tensor<16xf64>
  %r = net.negate %s : tensor<3xf64>
  %z = net.multiply %r, %yi : tensor<3xf64>
  %rest = net.next %r for %s : tensor<3xf64>
  %all = net.stack %n in %i : tensor<16xf64> -> tensor<TRIPSx16xf64>
  %numbers = net.stack %i in %i : tensor<i32> -> tensor<TRIPSxi32>
  %products = net.stack %z in %i : tensor<3xf64> -> tensor<TRIPSx3xf64>
  net.end_loop %i
  return %last, %all, %numbers, %rest, %products
      : tensor<16xf64>, tensor<TRIPSx16xf64>, tensor<TRIPSxi32>, tensor<3xf64>, tensor<TRIPSx3xf64>
})";

class LoopPackages : public EmitTest {
protected:
  OwningOpRef<ModuleOp> parse(int64_t iterations) {
    return parseSourceString<ModuleOp>(std::regex_replace(kText, std::regex("TRIPS"), std::to_string(iterations)),
                                       &context);
  }

  /// Compiles the network to a package and reads what that says.
  Package compile(int64_t iterations, const std::string &path) {
    OwningOpRef<ModuleOp> module = parse(iterations);
    PassManager manager(&context);
    schedule::buildPipeline(manager);
    emit::EmitOptions options;
    options.path = path;
    options.targets = {"native"};
    EXPECT_TRUE(succeeded(manager.run(*module)) && succeeded(emit::emitPackage(*module, nullptr, options)));
    Package package;
    std::ifstream file(path + "/package.pb", std::ios::binary);
    EXPECT_TRUE(package.ParseFromIstream(&file));
    return package;
  }

  TempFolder folder;
};

TEST_F(LoopPackages, AreAsLargeForManyIterationsAsForFew) {
  Package few = compile(3, folder / "few"), many = compile(300, folder / "many");
  const Program &left = few.programs(0), &right = many.programs(0);
  ASSERT_EQ(left.tasks_size(), 1);
  EXPECT_EQ(left.tasks(0).instructions_size(), right.tasks(0).instructions_size());
  EXPECT_EQ(left.buffers_size(), right.buffers_size());
  EXPECT_EQ(left.constants_size(), right.constants_size());
  int numLoops = 0;
  for (const Instruction &instruction : left.tasks(0).instructions())
    numLoops += instruction.has_loop();
  EXPECT_EQ(numLoops, 2);
}

TEST_F(LoopPackages, DoWhatTheNetworkSays) {
  for (int64_t iterations : {1, 3, 40}) {
    SCOPED_TRACE(iterations);
    std::string path = folder / std::to_string(iterations);
    compile(iterations, path);
    OwningOpRef<ModuleOp> module = parse(iterations);
    auto reference = evaluate::Program::create(*module);
    ASSERT_TRUE(succeeded(reference));
    auto program = PackageProgram::open(path);
    ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());
    func::FuncOp func = reference->getFunction();
    Random random(iterations);
    Tensors inputs;
    for (Type type : func.getArgumentTypes())
      inputs.push_back(makeTensor(random, type));
    program->setVariable("w", reference->variables["w"]);
    auto expected = reference->run(inputs);
    auto actual = program->run(inputs, func.getResultTypes());
    ASSERT_TRUE(succeeded(expected));
    ASSERT_TRUE(static_cast<bool>(actual)) << llvm::toString(actual.takeError());
    for (auto [found, wanted] : llvm::zip_equal(*actual, *expected))
      EXPECT_LE(getDistance(found, wanted), 1e-13);
  }
}

} // namespace
