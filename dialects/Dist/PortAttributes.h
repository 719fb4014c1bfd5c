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

/// Changes attributes of the arguments and results of functions, all at once. A function holds them as one list, and
/// the context keeps every list that was ever made: n changes one by one take memory and time in proportion to n².
class PortAttributes {
public:
  /// The attribute as it was last set here, else as the function has it; null where there is none.
  mlir::Attribute get(mlir::BlockArgument argument, llvm::StringRef name) const;
  /// Sets an attribute of an argument or a result of a function; `write` makes it visible.
  void set(mlir::BlockArgument argument, llvm::StringRef name, mlir::Attribute value);
  void setResult(mlir::func::FuncOp func, unsigned result, llvm::StringRef name, mlir::Attribute value);
  /// Gives the functions what was set since the last call. The functions still have the ports that they had then.
  void write();

private:
  using Lists = llvm::SmallVector<mlir::NamedAttrList, 0>;

  llvm::MapVector<mlir::Operation *, Lists> arguments, results;
};

} // namespace meshwright::dist

#endif
