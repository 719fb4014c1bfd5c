//===- Graph.h - the public function, and scopes of operations --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STABLEHLO_GRAPH_H
#define MESHWRIGHT_STABLEHLO_GRAPH_H

#include "meshwright/Support/Programs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace meshwright::importer {

/// True if `func` is the comparator or combiner of an operation, rather than a function to call.
bool isComputation(mlir::func::FuncOp func);

/// The only public function of the module that is not a computation; `verifyBody` has accepted its body. Null after an
/// error.
mlir::func::FuncOp findGraph(mlir::ModuleOp module);

/// Adds the discardable attributes `added` to `op`, all at once because every change builds a new dictionary.
void addAttributes(mlir::Operation *op, mlir::DictionaryAttr added);

/// The scope `inner` below `outer`, either of which may be empty.
std::string joinScopes(llvm::StringRef outer, llvm::StringRef inner);

} // namespace meshwright::importer

#endif
