//===- Body.h - writes the operations of a step -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_BODY_H
#define MESHWRIGHT_LIB_EXPORT_BODY_H

#include "dialects/Net/Loops.h"
#include "meshwright/Export/Writer.h"

namespace meshwright::exporter {

/// Writes the operations of a block by their forms. Loops, which stand in the block between two operations, become
/// `stablehlo.while`.
class Body {
public:
  /// `isLate` says which operations serve the last of several times alone.
  Body(mlir::Block &block, Writer &writer, llvm::function_ref<bool(mlir::Operation *)> isLate)
      : block(block), writer(writer), isLate(isLate) {}

  /// Writes all operations that are late, or all that are not, except reads and assignments of variables, and the
  /// return.
  mlir::LogicalResult write(bool late);

private:
  mlir::LogicalResult writeOperation(mlir::Operation *op);
  mlir::FailureOr<mlir::Operation *> writeLoop(net::LoopOp loop);

  mlir::Block &block;
  Writer &writer;
  llvm::function_ref<bool(mlir::Operation *)> isLate;
};

/// The path of a location for an operation in that scope: `jit(step)/h/3/attn/dot`; operations of backward are
/// `transpose(jvp(…))`, as JAX names them.
std::string getLocationPath(mlir::Operation *op);

} // namespace meshwright::exporter

#endif
