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
  Body(mlir::Block &block, Writer &writer) : block(block), writer(writer) {}

  /// Writes the operations that are meant, except reads and assignments of variables, counted conditionals, and the
  /// terminator. A loop is written if its `net.loop` is meant.
  mlir::LogicalResult write(llvm::function_ref<bool(mlir::Operation *)> isMeant);
  mlir::LogicalResult write() {
    return write([](mlir::Operation *) { return true; });
  }

private:
  mlir::LogicalResult writeOperation(mlir::Operation *op);
  mlir::FailureOr<mlir::Operation *> writeLoop(net::LoopOp loop);

  mlir::Block &block;
  Writer &writer;
};

/// The path of a location for an operation in that scope: `jit(step)/h/3/attn/dot`; operations of backward are
/// `transpose(jvp(…))`, as JAX names them.
std::string getLocationPath(mlir::Operation *op);

} // namespace meshwright::exporter

#endif
