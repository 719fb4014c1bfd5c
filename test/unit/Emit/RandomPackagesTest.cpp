//===- RandomPackagesTest.cpp - packages do what networks say -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small networks, serial and in random placements, are scheduled, compiled to packages and executed by the
// runtime; every result and variable of two steps is compared with the plain interpreter on the serial network, and
// those of two more with the serial program in exact arithmetic.
// MESHWRIGHT_TEST_SEED says which networks, MESHWRIGHT_TEST_CASES how many, MESHWRIGHT_TEST_FIRST from which on: the
// number of a failed round and one case repeat it alone.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Emit/Emit.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/runtime/ExactCheck.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/unit/Emit/EmitTest.h"
#include "test/unit/Emit/KernelCoverage.h"
#include "test/unit/Emit/PackageProgram.h"
#include "test/unit/Partition/RandomAnnotation.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Partition/RandomPlacement.h"
#include "test/unit/Partition/RandomTensor.h"
#include "test/unit/Runtime/TempFolder.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using evaluate::Tensor;
using evaluate::Tensors;

namespace {

/// The number of failures in the running test so far.
int64_t countFailures() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

int64_t readNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// The values of a serial network whose bits depend on neither order nor approximation: no sum and no function of many
/// roundings leads to them.
class Exactness {
public:
  explicit Exactness(func::FuncOp func) {
    // An inexact variable makes more of them inexact in the next step.
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation &op : func.getBody().front()) {
        bool isInexact = computesInexactly(&op) ||
                         llvm::any_of(op.getOperands(), [&](Value operand) { return inexact.contains(operand); });
        if (auto read = dyn_cast<net::ReadOp>(op))
          isInexact = variables.contains(read.getVariable());
        if (auto assign = dyn_cast<net::AssignOp>(op); assign && isInexact)
          changed |= variables.insert(assign.getVariable()).second;
        // The next iteration goes on from it.
        if (auto next = dyn_cast<net::NextOp>(op); next && isInexact)
          changed |= inexact.insert(next.getCarry()).second;
        if (isInexact)
          inexact.insert(op.result_begin(), op.result_end());
      }
    }
  }

  bool isExact(Value value) const { return !inexact.contains(value); }
  bool isExact(StringRef variable) const { return !variables.contains(variable); }

private:
  static bool computesInexactly(Operation *op) {
    if (op->getNumResults() == 0 || !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
      return false;
    if (auto reduce = dyn_cast<net::ReduceOp>(op))
      return reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Product;
    if (auto scatter = dyn_cast<net::ScatterOp>(op))
      return scatter.getKind() == net::ScatterKind::Add || scatter.getKind() == net::ScatterKind::Multiply;
    return isa<net::TotalOp, net::DotOp, net::AsinhOp, net::Atan2Op, net::CbrtOp, net::CholeskyOp, net::CoshOp,
               net::CosineOp, net::ErfOp, net::ErfcOp, net::ExpOp, net::Expm1Op, net::LgammaOp, net::LogOp,
               net::Log1pOp, net::LogisticOp, net::PowerOp, net::RsqrtOp, net::SineOp, net::SinhOp, net::TanOp,
               net::TanhOp, net::TriangularSolveOp>(op);
  }

  llvm::DenseSet<Value> inexact;
  llvm::StringSet<> variables;
};

class RandomPackages : public EmitTest {
protected:
  void check(Random &random);
  OwningOpRef<ModuleOp> distribute(Random &random, ModuleOp serial);
  void compare(Random &random, ModuleOp serial, const std::string &folder);
  void compare(const Tensor &actual, const Tensor &expected, bool isExact);
  void checkExact(const std::string &folder, uint64_t seed);

  TempFolder folder;
  KernelCoverage coverage;
  Coverage placements;
  int64_t numSerial = 0, numLooping = 0, numUneven = 0, numExact = 0, numCompared = 0, numExactlyEqual = 0;
};

/// Exact values are equal, zeros of different sign among them.
void RandomPackages::compare(const Tensor &actual, const Tensor &expected, bool isExact) {
  numExact += isExact;
  ++numCompared;
  Type element = expected.type.getElementType();
  double tolerance = element.isF64() ? 1e-11 : element.isF32() ? 1e-4 : 0.1;
  ASSERT_LE(getDistance(actual, expected), isExact ? 0 : tolerance);
}

/// Runs both for two steps and compares all results and variables.
void RandomPackages::compare(Random &random, ModuleOp serial, const std::string &folder) {
  auto reference = evaluate::Program::create(serial);
  llvm::Expected<PackageProgram> program = PackageProgram::open(folder);
  ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());
  ASSERT_TRUE(succeeded(reference));
  func::FuncOp func = reference->getFunction();
  Exactness exactness(func);
  for (auto variable : serial.getOps<net::VariableOp>()) {
    Tensor value = makeTensor(random, variable.getType());
    reference->variables[variable.getSymName().str()] = value;
    program->setVariable(variable.getSymName().str(), value);
  }
  for (int step = 0; step < 2; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Tensors inputs;
    for (Type type : func.getArgumentTypes())
      inputs.push_back(makeTensor(random, type));
    auto expected = reference->run(inputs);
    ASSERT_TRUE(succeeded(expected));
    auto actual = program->run(inputs, func.getResultTypes());
    ASSERT_TRUE(static_cast<bool>(actual)) << llvm::toString(actual.takeError());
    Operation *results = func.getBody().front().getTerminator();
    for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(*actual, *expected))) {
      SCOPED_TRACE("result " + std::to_string(index));
      ASSERT_NO_FATAL_FAILURE(
          compare(std::get<0>(pair), std::get<1>(pair), exactness.isExact(results->getOperand(index))));
    }
    for (auto &[name, value] : reference->variables) {
      SCOPED_TRACE("variable " + name);
      auto whole = program->getVariable(name, value.type);
      ASSERT_TRUE(static_cast<bool>(whole)) << llvm::toString(whole.takeError());
      ASSERT_NO_FATAL_FAILURE(compare(*whole, value, exactness.isExact(name)));
    }
  }
}

/// Residues leave no room for an error that is as small as rounding.
void RandomPackages::checkExact(const std::string &folder, uint64_t seed) {
  auto package = runtime::LoadedPackage::open(folder);
  ASSERT_TRUE(package.ok()) << package.status().message();
  auto check = runtime::ExactCheck::create(*package, *package, {}, seed);
  ASSERT_TRUE(check.ok()) << check.status().message();
  for (int step = 0; step != 2; ++step) {
    auto report = (*check)->step(nullptr);
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_TRUE(report->differences.empty()) << report->toString("; ");
    numExactlyEqual += report->variables + report->outputs;
  }
}

/// The program of the ranks of a random mesh, in random placements.
OwningOpRef<ModuleOp> RandomPackages::distribute(Random &random, ModuleOp serial) {
  dist::Mesh mesh = makeMesh(random, 3, 8);
  OwningOpRef<ModuleOp> module = serial.clone();
  RandomAnnotation annotation(random, mesh, placements, /*withHolders=*/random.chance(50));
  annotation.annotate(*module);
  numUneven += annotation.isUneven();
  PassManager manager(&context);
  partition::buildPipeline(manager);
  if (random.chance(70))
    optimize::buildPipeline(manager);
  if (failed(manager.run(*module)))
    return nullptr;
  return module;
}

/// Says of the operations, in order, that they are forward, backward and the update: communication goes by that, and is
/// right whatever it is.
void assignRoles(Random &random, ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  int64_t count = func.getBody().front().getOperations().size(), position = 0;
  int64_t backward = random.pick(0, count / 2), update = random.pick(backward, count);
  for (Operation &op : func.getBody().front().without_terminator()) {
    net::Role role = position >= update     ? net::Role::Optimize
                     : position >= backward ? net::Role::Backward
                                            : net::Role::Forward;
    net::kRoleAttr.set(&op, net::RoleAttr::get(module.getContext(), role));
    ++position;
  }
}

schedule::Options makeOptions(Random &random) {
  schedule::Options options;
  options.overlap = random.chance(90);
  options.communicate.bucketSize = random.choose(std::vector<double>{0, 0.0001, 0.001, 32});
  options.communicate.maxInFlight = random.pick(1, 4);
  options.communicate.lateReductions = random.chance(30);
  return options;
}

void RandomPackages::check(Random &random) {
  const std::vector<Type> reals{Float64Type::get(&context), Float64Type::get(&context), Float32Type::get(&context),
                                Float32Type::get(&context), BFloat16Type::get(&context)};
  Type real = random.choose(reals);
  OwningOpRef<ModuleOp> serial = RandomNetwork(random, context, real).build(random.pick(3, 14), /*withLoops=*/true);
  ASSERT_TRUE(succeeded(verify(*serial))) << print(*serial);
  numLooping += !(*serial->getOps<func::FuncOp>().begin()).getBody().front().getOps<net::LoopOp>().empty();
  assignRoles(random, *serial);
  bool isSerial = random.chance(30);
  numSerial += isSerial;
  OwningOpRef<ModuleOp> module = isSerial ? OwningOpRef<ModuleOp>(serial->clone()) : distribute(random, *serial);
  ASSERT_TRUE(module) << print(*serial);
  std::string before = print(*module);
  PassManager manager(&context);
  schedule::buildPipeline(manager, makeOptions(random));
  ASSERT_TRUE(succeeded(manager.run(*module))) << before;
  OwningOpRef<ModuleOp> scheduledSerial = serial->clone();
  ASSERT_TRUE(succeeded(manager.run(*scheduledSerial))) << print(*serial);
  coverage.add(*module);
  emit::EmitOptions options;
  options.path = folder / "package";
  options.targets = {"native", "exact"};
  ASSERT_TRUE(succeeded(emit::emitPackage(*module, *scheduledSerial, options))) << before;
  int64_t failures = countFailures();
  compare(random, *serial, options.path);
  checkExact(options.path, static_cast<uint64_t>(random.pick(0, 1 << 30)));
  if (countFailures() != failures)
    ADD_FAILURE() << "of the network\n" << before << "scheduled as\n" << print(*module);
}

TEST_F(RandomPackages, stepIsWhatTheInterpreterComputes) {
  constexpr int64_t kCases = 40;
  int64_t first = readNumber("MESHWRIGHT_TEST_FIRST", 0), cases = readNumber("MESHWRIGHT_TEST_CASES", kCases);
  std::string failed;
  int64_t round = first;
  int64_t numOperations = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    numOperations += name.hasInterface<dist::KernelOpInterface>();
  auto coversMost = [&] { return coverage.getNumOperations() * 4 >= numOperations * 3; };
  auto isEnough = [&] { return cases < kCases || (coverage.findMissing().empty() && coversMost()); };
  // Rounds are added until the floor is reached, within limits: other seeds take a little longer.
  for (; round < first + cases || (round < first + 4 * cases && !isEnough()); ++round) {
    // A network of its own for every round, so that one can be repeated alone.
    Random random(50000 + round);
    SCOPED_TRACE(random.describe(round));
    int64_t failures = countFailures();
    check(random);
    if (countFailures() != failures)
      failed += " " + std::to_string(round);
  }
  EXPECT_EQ(failed, "") << "rounds of " << Random().describe(first);
  llvm::outs() << StringRef(Random().describe(0)).split(',').first << "\n" << coverage.print();
  llvm::outs() << round - first << " networks, " << numSerial << " serial, " << numLooping << " with loops, "
               << numUneven << " with parts of unequal size; " << numCompared << " values compared, " << numExact
               << " of them exactly, " << numExactlyEqual << " more in exact arithmetic\n";
  if (cases < kCases)
    return;
  // The floor: every form occurred, and most operations did.
  for (const std::string &form : coverage.findMissing())
    ADD_FAILURE() << form << " does not occur";
  EXPECT_TRUE(coversMost()) << coverage.getNumOperations() << " of " << numOperations << " operations occur";
  EXPECT_GE(numExact * 4, numCompared);
  EXPECT_GE(numUneven * 5, round - first);
  EXPECT_GE(numSerial * 8, round - first);
  EXPECT_GE(numLooping * 6, round - first);
}

} // namespace
