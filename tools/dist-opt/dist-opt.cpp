//===- dist-opt.cpp - the compiler's driver -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CommandLine.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  meshwright::registerAllPasses();
  if (meshwright::isCompileCommand(argc, argv))
    return meshwright::runCompileCommand(argc, argv, registry);
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "Meshwright: serial training networks to distributed rank programs\n", registry));
}
