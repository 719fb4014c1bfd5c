//===- Plugin.cpp - dialects and passes for other tools -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt --load-dialect-plugin=libMeshwrightPlugin.so --load-pass-plugin=libMeshwrightPlugin.so runs every pass of
// the compiler. The tool has to be linked with the same libMLIR.so.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/Pipeline.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace meshwright;

extern "C" {

LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Meshwright", MESHWRIGHT_VERSION,
          [](mlir::DialectRegistry *registry) { registerAllDialects(*registry); }};
}

LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Meshwright", MESHWRIGHT_VERSION, [] { registerAllPasses(); }};
}
}
