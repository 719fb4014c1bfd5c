//===- dist-opt.cpp - the compiler's driver -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CommandLine.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

/// Runs single passes as mlir-opt does. A wrong option is wrong usage and not the input's fault.
static int runPasses(int argc, char **argv, mlir::DialectRegistry &registry) {
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("Output file"), llvm::cl::init("-"));
  std::string header = mlir::registerCLIOptions("Meshwright: single passes\n", registry);
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, header, &llvm::errs()))
    return meshwright::ExitUsage;
  bool failed = mlir::failed(mlir::MlirOptMain(argc, argv, input, output, registry));
  return failed ? meshwright::ExitInput : meshwright::ExitDone;
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  meshwright::registerAllPasses();
  if (meshwright::isCompileCommand(argc, argv))
    return meshwright::runCompileCommand(argc, argv, registry);
  return runPasses(argc, argv, registry);
}
