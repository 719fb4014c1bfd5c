//===- Diagnostics.h - prints errors with their source line ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_DIAGNOSTICS_H
#define MESHWRIGHT_LIB_PIPELINE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace meshwright {

/// Prints diagnostics as `file:line:column: error: message` with the place in the line. Exported graphs have lines of a
/// hundred thousand characters, so a long line is cut around the column.
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  DiagnosticPrinter(mlir::MLIRContext *context, llvm::raw_ostream &out);

  /// Makes the text of a file known that was read from elsewhere (standard input).
  void addText(llvm::StringRef name, llvm::StringRef text);

private:
  void print(mlir::Diagnostic &diagnostic);
  void printLine(mlir::Location loc, llvm::StringRef severity, const std::string &message);
  void printExcerpt(mlir::FileLineColLoc place);

  llvm::raw_ostream &out;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> texts;
};

} // namespace meshwright

#endif
