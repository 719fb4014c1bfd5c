//===- Text.h - exported text before conversion -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_TEXT_H
#define MESHWRIGHT_IMPORT_TEXT_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace meshwright::importer {

/// Registers the dialects that exported text is written in (stablehlo, chlo, sdy). They are read, never printed.
void registerSourceDialects(mlir::DialectRegistry &registry);

/// Checks what any text has to be before MLIR parses it: UTF-8 without zero bytes, and not so deeply nested that a
/// recursive parser overflows its stack. Errors are located in the file `name`.
llvm::LogicalResult checkText(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context);

} // namespace meshwright::importer

#endif
