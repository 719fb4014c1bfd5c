//===- Transfer.h - modules from one context to another ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_TRANSFER_H
#define MESHWRIGHT_LIB_PIPELINE_TRANSFER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright {

/// Copies modules into a context in which dialects of the same names may be other ones: operation by operation, by
/// names and attributes. Builtin types, attributes and locations are built anew. Attributes and types of dialects are
/// printed and parsed, each once.
class Transfer {
public:
  explicit Transfer(mlir::MLIRContext &context) : context(context) {}

  /// The copy of `module`; null after an error at what the other context does not know.
  mlir::OwningOpRef<mlir::ModuleOp> copy(mlir::ModuleOp module);
  mlir::Location map(mlir::Location location);

private:
  mlir::Type map(mlir::Type type);
  mlir::Attribute map(mlir::Attribute attribute);
  mlir::Attribute build(mlir::Attribute attribute);
  mlir::Operation *copy(mlir::Operation *op);
  mlir::LogicalResult copy(mlir::Region &from, mlir::Region &to);

  mlir::MLIRContext &context;
  llvm::DenseMap<mlir::Type, mlir::Type> types;
  llvm::DenseMap<mlir::Attribute, mlir::Attribute> attributes;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Block *, mlir::Block *> blocks;
};

} // namespace meshwright

#endif
