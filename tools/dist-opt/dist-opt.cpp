//===- dist-opt.cpp - the compiler's driver -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, meshwright::net::NetDialect, meshwright::dist::DistDialect>();
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "Meshwright: serial training networks to distributed rank programs\n", registry));
}
