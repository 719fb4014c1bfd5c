//===- Graph.h - the function that is the graph -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_GRAPH_H
#define MESHWRIGHT_LIB_IMPORT_GRAPH_H

#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace meshwright::importer {

/// Whether `func` is what an operation compares or combines with, and no function that is called.
bool isComputation(mlir::func::FuncOp func);

/// The module's only public function but for such, whose body `verifyBody` accepts. Null after an error.
mlir::func::FuncOp findGraph(mlir::ModuleOp module);

/// The scope and the role of `op`, which is empty where it has neither.
mlir::DictionaryAttr getScopeAndRole(mlir::Operation *op);

/// Gives `op` the discardable attributes `added` beside its own, all at once: every change makes a dictionary.
void addAttributes(mlir::Operation *op, mlir::DictionaryAttr added);

/// The scope `inner` below `outer`, either of which may be empty.
std::string joinScopes(llvm::StringRef outer, llvm::StringRef inner);

} // namespace meshwright::importer

#endif
