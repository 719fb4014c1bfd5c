//===- net-eval.cpp - runs a serial network by the plain interpreter ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// net-eval MODULE --init=parameters.safetensors --feed=batch{step}.safetensors --steps=5 --outputs=o.safetensors
//   --save=final.safetensors: what dist-run does with a package, for a module in text. Every step prints its scalar
//   outputs.
//
//===----------------------------------------------------------------------===//

#include "mlir/Parser/Parser.h"
#include "test/lib/Evaluate/Evaluate.h"
#include "test/lib/Evaluate/Safetensors.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static llvm::cl::opt<std::string> moduleFile(llvm::cl::Positional, llvm::cl::desc("MODULE"), llvm::cl::init("-"));
static llvm::cl::opt<std::string> initFile("init", llvm::cl::desc("Initial values of variables"));
static llvm::cl::opt<std::string> feedFile("feed",
                                           llvm::cl::desc("Inputs; {step} is replaced by the number of the step"));
static llvm::cl::opt<std::string> outputsFile("outputs", llvm::cl::desc("Where the outputs of the last step go"));
static llvm::cl::opt<std::string> saveFile("save", llvm::cl::desc("Where the variables go"));
static llvm::cl::opt<int> steps("steps", llvm::cl::desc("Number of steps"), llvm::cl::init(1));

static llvm::ExitOnError check("net-eval: ");

static std::string nameOf(Attribute name, const Twine &otherwise) {
  return name ? cast<StringAttr>(name).getValue().str() : otherwise.str();
}

/// The inputs of one step in the order of the arguments.
static Tensors readInputs(func::FuncOp func, int step) {
  std::string path = feedFile;
  if (size_t at = path.find("{step}"); at != std::string::npos)
    path.replace(at, 6, std::to_string(step));
  std::map<std::string, Tensor> fed;
  if (!path.empty())
    fed = check(readSafetensors(path, func.getContext()));
  Tensors inputs;
  for (unsigned index = 0; index < func.getNumArguments(); ++index) {
    std::string name = nameOf(func.getArgAttr(index, net::kNameAttr), "arg" + Twine(index));
    auto found = fed.find(name);
    if (found == fed.end())
      check(llvm::createStringError("step " + Twine(step) + " has no input " + name));
    inputs.push_back(found->second);
  }
  return inputs;
}

static std::map<std::string, Tensor> nameOutputs(func::FuncOp func, Tensors results) {
  std::map<std::string, Tensor> outputs;
  for (auto [index, result] : llvm::enumerate(results)) {
    unsigned number = index;
    outputs[nameOf(func.getResultAttr(number, net::kNameAttr), "out" + Twine(number))] = std::move(result);
  }
  return outputs;
}

static void printScalars(int step, const std::map<std::string, Tensor> &outputs) {
  llvm::outs() << "step " << step;
  for (const auto &[name, value] : outputs) {
    if (value.size() != 1)
      continue;
    llvm::outs() << " " << name << " ";
    if (value.isFloat())
      llvm::outs() << llvm::format("%.17g", value.data[0].f);
    else
      llvm::outs() << value.data[0].i;
  }
  llvm::outs() << "\n";
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "Runs a serial network by the plain interpreter\n");
  MLIRContext context;
  context.loadDialect<func::FuncDialect, net::NetDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(moduleFile, &context);
  if (!module)
    return 1;
  FailureOr<Program> program = Program::create(*module);
  if (failed(program))
    return 1;
  if (!initFile.empty())
    for (auto &[name, value] : check(readSafetensors(initFile, &context)))
      program->variables[name] = value;
  std::map<std::string, Tensor> outputs;
  for (int step = 0; step < steps; ++step) {
    FailureOr<Tensors> results = program->run(readInputs(program->getFunction(), step));
    if (failed(results))
      return 1;
    outputs = nameOutputs(program->getFunction(), std::move(*results));
    printScalars(step, outputs);
  }
  if (!outputsFile.empty())
    check(writeSafetensors(outputsFile, outputs));
  if (!saveFile.empty())
    check(writeSafetensors(saveFile, program->variables));
  return 0;
}
