//===- Text.h - exported text before conversion -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STABLEHLO_TEXT_H
#define MESHWRIGHT_STABLEHLO_TEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace meshwright::importer {

/// Registers the dialects of exported text (stablehlo, chlo, sdy). They are only parsed, never printed.
void registerSourceDialects(mlir::DialectRegistry &registry);

/// True if operations of StableHLO or of dialects beside it in `module` are not of the registered source dialects:
/// another dialect of that name is loaded, or none is.
bool isOfOtherSource(mlir::ModuleOp module);

/// Rejects text that MLIR's parser must not see: bytes that are not UTF-8, zero bytes, and nesting so deep that a
/// recursive parser overflows its stack. Errors are located in the file `name`.
llvm::LogicalResult checkText(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context);

} // namespace meshwright::importer

#endif
