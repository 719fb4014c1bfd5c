//===- main.cpp - a program that embeds the compiler ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distributes a network, which stands in memory, by a strategy, and says why every conversion is there:
//
//   explain model.mlir strategy.textproto
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CompileModule.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: explain model.mlir strategy.textproto\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  auto strategy = meshwright::strategy::StrategyFile::read(argv[2], &context);
  if (!module || failed(strategy) || failed(strategy->check(/*ranks=*/0, &context)))
    return 1;
  mlir::FailureOr<meshwright::Compiled> compiled = meshwright::compile(*module, *strategy);
  if (failed(compiled))
    return 1;
  llvm::outs() << compiled->explanation;
  return 0;
}
