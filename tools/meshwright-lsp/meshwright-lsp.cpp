//===- meshwright-lsp.cpp - MLIR's language server with our dialects ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/LogicalResult.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  meshwright::registerAllDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
