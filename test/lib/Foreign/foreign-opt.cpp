//===- foreign-opt.cpp - dist-opt with a foreign dialect ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CommandLine.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "test/lib/Foreign/Foreign.h"
#include "test/lib/Foreign/Models.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  registry.insert<foreign::ForeignDialect>();
  foreign::registerSharding(registry);
  foreign::registerKernels(registry);
  meshwright::registerAllPasses();
  if (meshwright::isCompileCommand(argc, argv))
    return meshwright::runCompileCommand(argc, argv, registry);
  return mlir::failed(mlir::MlirOptMain(argc, argv, "Meshwright with a foreign dialect\n", registry));
}
