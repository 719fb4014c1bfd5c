//===- Graph.h - the function that is the graph -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_GRAPH_H
#define MESHWRIGHT_LIB_IMPORT_GRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace meshwright::importer {

/// The module's only public function, which is of one block. Null after an error.
mlir::func::FuncOp findGraph(mlir::ModuleOp module);

/// The scope `inner` below `outer`, either of which may be empty.
std::string joinScopes(llvm::StringRef outer, llvm::StringRef inner);

} // namespace meshwright::importer

#endif
