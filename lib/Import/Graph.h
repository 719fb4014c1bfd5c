//===- Graph.h - the function that is the graph -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_GRAPH_H
#define MESHWRIGHT_LIB_IMPORT_GRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace meshwright::importer {

/// Whether `func` is what an operation compares or combines with, and no function that is called.
bool isComputation(mlir::func::FuncOp func);

/// The module's only public function but for such, whose body `verifyBody` accepts. Null after an error.
mlir::func::FuncOp findGraph(mlir::ModuleOp module);

/// Checks that a function has a body of one block that ends with its return. Operations of dialects that are not linked
/// pass for ends of a block otherwise.
llvm::LogicalResult verifyBody(mlir::func::FuncOp func);

/// Why a value cannot be of that type in the serial network, as a clause: ", whose dimension 0 has no size". Nothing if
/// it can: values are tensors of static shape and known elements.
std::optional<std::string> getTypeProblem(mlir::Type type);

/// The scope and the role of `op`, which is empty where it has neither.
mlir::DictionaryAttr getScopeAndRole(mlir::Operation *op);

/// Gives `op` the discardable attributes `added` beside its own, all at once: every change makes a dictionary.
void addAttributes(mlir::Operation *op, mlir::DictionaryAttr added);

/// The scope `inner` below `outer`, either of which may be empty.
std::string joinScopes(llvm::StringRef outer, llvm::StringRef inner);

} // namespace meshwright::importer

#endif
