//===- Passes.h - pass pipeline of the stage Import -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PASSES_H
#define MESHWRIGHT_IMPORT_PASSES_H

#include "meshwright/Import/Import.h"
#include "meshwright/StableHLO/Passes.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace meshwright::importer {

#define GEN_PASS_DECL
#include "meshwright/Import/Passes.h.inc"

/// Adds the passes of the stage, with its verifier last. They leave a module that is already a network as it is.
void buildImportPipeline(mlir::OpPassManager &passes, const Options &options);

/// Registers the whole stage as a pipeline, `--dist-import="parameters=p.*"`.
void registerImportPipeline();

#define GEN_PASS_REGISTRATION
#include "meshwright/Import/Passes.h.inc"

} // namespace meshwright::importer

#endif
