//===- dist-simulate.cpp - all ranks of a program against the serial one --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dist-simulate SERIAL PARTITIONED --init=parameters.safetensors --feed=batch{step}.safetensors --steps=3
//   --tolerance=1e-11: runs the serial network by the plain interpreter and the partitioned one on all its ranks, and
//   says how far outputs and variables are apart. Exit status 3 where that is more than the tolerance.
//
//===----------------------------------------------------------------------===//

#include "mlir/Parser/Parser.h"
#include "test/lib/Evaluate/Safetensors.h"
#include "test/lib/Simulate/Simulator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static llvm::cl::opt<std::string> serialFile(llvm::cl::Positional, llvm::cl::Required, llvm::cl::desc("SERIAL"));
static llvm::cl::opt<std::string> partitionedFile(llvm::cl::Positional, llvm::cl::Required,
                                                  llvm::cl::desc("PARTITIONED"));
static llvm::cl::opt<std::string> initFile("init", llvm::cl::desc("Initial values of variables"));
static llvm::cl::opt<std::string> feedFile("feed",
                                           llvm::cl::desc("Inputs; {step} is replaced by the number of the step"));
static llvm::cl::opt<int> steps("steps", llvm::cl::desc("Number of steps"), llvm::cl::init(1));
static llvm::cl::opt<double> tolerance("tolerance", llvm::cl::desc("What is allowed"), llvm::cl::init(1e-11));

static llvm::ExitOnError check("dist-simulate: ");

static Tensors readInputs(func::FuncOp func, int step) {
  std::string path = feedFile;
  if (size_t at = path.find("{step}"); at != std::string::npos)
    path.replace(at, 6, std::to_string(step));
  std::map<std::string, Tensor> fed = check(readSafetensors(path, func.getContext()));
  Tensors inputs;
  for (unsigned index = 0; index < func.getNumArguments(); ++index) {
    auto name = net::kNameAttr.getOfArgument(func, index);
    auto found = fed.find(name ? name.str() : "");
    if (found == fed.end())
      check(llvm::createStringError("step " + Twine(step) + " lacks input " + Twine(index)));
    inputs.push_back(found->second);
  }
  return inputs;
}

/// The norm of the difference, relative to the larger of the norm and the size of a step.
static double getDistance(const Tensor &actual, const Tensor &expected) {
  double difference = 0, norm = 0;
  for (auto [a, b] : llvm::zip_equal(actual.data, expected.data)) {
    double left = actual.isFloat() ? a.f : static_cast<double>(a.i);
    double right = expected.isFloat() ? b.f : static_cast<double>(b.i);
    difference += (left - right) * (left - right);
    norm += right * right;
  }
  double distance = std::sqrt(difference) / std::max(std::sqrt(norm), 1e-3);
  return std::isnan(distance) ? INFINITY : distance;
}

namespace {

/// The largest distance so far.
struct Worst {
  double distance = 0;
  std::string name = "nothing";
  unsigned count = 0;

  void see(const std::string &what, const Tensor &actual, const Tensor &expected) {
    ++count;
    double found = getDistance(actual, expected);
    if (found > distance) {
      distance = found;
      name = what;
    }
  }
};

} // namespace

/// Runs one step of both and compares; nothing where the simulator fails.
static std::optional<Worst> runStep(Program &program, simulate::Simulator &simulator, int step) {
  Tensors inputs = readInputs(program.getFunction(), step);
  FailureOr<Tensors> expected = program.run(inputs), actual = simulator.run(inputs);
  if (failed(expected) || failed(actual))
    return std::nullopt;
  Worst worst;
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(*actual, *expected)))
    worst.see("output " + std::to_string(index), std::get<0>(pair), std::get<1>(pair));
  for (auto &[name, value] : program.variables) {
    FailureOr<Tensor> whole = simulator.getVariable(name);
    if (failed(whole))
      return std::nullopt;
    worst.see(name, *whole, value);
  }
  return worst;
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "Runs all ranks of a partitioned network against the serial one\n");
  MLIRContext context;
  context.loadDialect<func::FuncDialect, net::NetDialect, dist::DistDialect>();
  OwningOpRef<ModuleOp> serial = parseSourceFile<ModuleOp>(serialFile, &context);
  OwningOpRef<ModuleOp> partitioned = parseSourceFile<ModuleOp>(partitionedFile, &context);
  if (!serial || !partitioned)
    return 1;
  FailureOr<Program> program = Program::create(*serial);
  FailureOr<simulate::Simulator> simulator = simulate::Simulator::create(*partitioned);
  if (failed(program) || failed(simulator))
    return 1;
  if (!initFile.empty())
    for (auto &[name, value] : check(readSafetensors(initFile, &context)))
      program->variables[name] = value;
  for (auto &[name, value] : program->variables)
    if (failed(simulator->setVariable(name, value)))
      return 1;
  for (int step = 0; step < steps; ++step) {
    std::optional<Worst> worst = runStep(*program, *simulator, step);
    if (!worst)
      return 1;
    llvm::outs() << "step " << step << ": " << worst->count << " values compared, largest difference "
                 << llvm::format("%.1e", worst->distance) << " at " << worst->name << "\n";
    if (worst->distance > tolerance)
      return 3;
  }
  return 0;
}
