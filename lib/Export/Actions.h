//===- Actions.h - parts of the actions of a pipeline -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_ACTIONS_H
#define MESHWRIGHT_LIB_EXPORT_ACTIONS_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace meshwright::exporter {

/// A part of the action `source`, before it: without operations, with the arguments and results of the whole, and with
/// `suffix` after its name. `mapping` gets its arguments for those of the source.
mlir::func::FuncOp createPart(mlir::func::FuncOp source, const llvm::Twine &suffix, mlir::SymbolTable &symbols,
                              mlir::IRMapping &mapping);

} // namespace meshwright::exporter

#endif
