//===- compare-gpu-kernels.cpp - kernels of a GPU and of a CPU ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compare-gpu-kernels MODULE FOLDER: compiles the kernels of a scheduled module for the CPU and for an emulated GPU,
// runs both, compares what they write, and prints how many launches there are of each kind.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/EmulatedGpu/KernelComparison.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: compare-gpu-kernels MODULE FOLDER\n";
    return 2;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module || llvm::sys::fs::create_directories(argv[2]))
    return 1;
  test::KernelComparison comparison(*module, argv[2]);
  std::vector<std::string> problems = comparison.run(/*seed=*/1);
  for (const std::string &problem : problems)
    llvm::outs() << problem << "\n";
  llvm::outs() << comparison.numCompared << " kernels compared, " << comparison.numExact << " bit by bit, "
               << comparison.numDivided << " in parts\n";
  for (const auto &[mapping, number] : comparison.mappings)
    llvm::outs() << number << " launches by " << mapping << "\n";
  return problems.empty() ? 0 : 1;
}
