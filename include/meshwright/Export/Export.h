//===- Export.h - a partitioned program as StableHLO ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_EXPORT_H
#define MESHWRIGHT_EXPORT_EXPORT_H

#include "meshwright/Export/Writer.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include <string>
#include <utility>
#include <vector>

namespace meshwright::exporter {

/// The name of a form, as options take it: `manual` or `replicas`.
std::optional<ModuleForm> parseModuleForm(llvm::StringRef name);

/// Registers the forms of the operations of `net` and `dist`: `StableHLOFormInterface`.
void registerForms(mlir::DialectRegistry &registry);

/// A step as StableHLO.
struct Exported {
  /// The text of the module, whose first line is a comment with its arguments and results as JSON. Of a pipeline, the
  /// list of its values, of its actions with their modules, and of their order, as JSON.
  std::string text;
  /// The modules of a pipeline, with their names.
  std::vector<std::pair<std::string, std::string>> modules;

  /// All as one text: `text`, and each module after a line `// ----- NAME`.
  std::string toText() const;
};

/// Writes the step of `module`, a program of local shapes as Partition or Optimize leaves it, which stays as it is.
/// Fails after an error at the operation or variable that cannot be written.
mlir::FailureOr<Exported> exportStableHLO(mlir::ModuleOp module, ModuleForm form);

} // namespace meshwright::exporter

#endif
