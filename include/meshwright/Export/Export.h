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

namespace meshwright::exporter {

/// The name of a form, as options take it: `manual` or `replicas`.
std::optional<ModuleForm> parseModuleForm(llvm::StringRef name);

/// Registers the forms of the operations of `net` and `dist`: `StableHLOFormInterface`.
void registerForms(mlir::DialectRegistry &registry);

/// The text of a StableHLO module that computes the step of `module`, a program of local shapes as Partition or
/// Optimize leaves it, which stays as it is. The first line is a comment with the arguments and results as JSON. Fails
/// after an error at the operation or variable that cannot be written.
mlir::FailureOr<std::string> exportStableHLO(mlir::ModuleOp module, ModuleForm form);

} // namespace meshwright::exporter

#endif
