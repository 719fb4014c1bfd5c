//===- PortAttributes.h - attributes of arguments and results ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_PORTATTRIBUTES_H
#define MESHWRIGHT_DIALECTS_DIST_PORTATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::dist {

/// Changes attributes of the arguments and results of functions in one go. A function holds them as one uniqued list,
/// and the context keeps every list that was ever made, so n single changes would take time and memory of order n².
class PortAttributes {
public:
  /// The attribute as it was last set here, else as the function has it; null if there is none.
  mlir::Attribute get(mlir::BlockArgument argument, llvm::StringRef name) const;
  /// Sets an attribute of an argument or a result of a function; `write` makes it visible.
  void set(mlir::BlockArgument argument, llvm::StringRef name, mlir::Attribute value);
  void setResult(mlir::func::FuncOp func, unsigned result, llvm::StringRef name, mlir::Attribute value);
  /// Writes the attributes set since the last call to the functions, whose numbers of arguments and results must not
  /// have changed in between.
  void write();

private:
  using Lists = llvm::SmallVector<mlir::NamedAttrList, 0>;

  llvm::MapVector<mlir::Operation *, Lists> arguments, results;
};

} // namespace meshwright::dist

#endif
