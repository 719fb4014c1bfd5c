//===- Loops.h - kernels that are loops of their own ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some operations are no `linalg.generic`: elements are written in an order that matters. They are loops that carry the
// tensor they write into, which becomes memory that is written in place.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_KERNEL_LOOPS_H
#define MESHWRIGHT_LIB_RULES_KERNEL_LOOPS_H

#include "Kernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace meshwright::kernel {

/// Makes of the carried value that of the next iteration.
using LoopBody = llvm::function_ref<mlir::Value(Builder &, mlir::Value iteration, mlir::Value carried)>;

inline mlir::Value index(Builder &builder, int64_t value) {
  return mlir::arith::ConstantIndexOp::create(builder, value);
}

/// Runs `body` for all indices from `from` to `to` in order and returns what it carries at the end.
inline mlir::Value loop(Builder &builder, mlir::Value from, mlir::Value to, mlir::Value carried, LoopBody body) {
  auto build = [&](mlir::OpBuilder &nested, mlir::Location loc, mlir::Value iteration, mlir::ValueRange values) {
    Builder inner(loc, nested);
    mlir::Value next = body(inner, iteration, values.front());
    mlir::scf::YieldOp::create(inner, next);
  };
  return mlir::scf::ForOp::create(builder, from, to, index(builder, 1), carried, build).getResult(0);
}

/// The same for all indices of `shape`, the last dimension innermost.
inline mlir::Value loopOver(Builder &builder, llvm::ArrayRef<int64_t> shape, mlir::Value carried,
                            llvm::function_ref<mlir::Value(Builder &, mlir::ValueRange, mlir::Value)> body,
                            llvm::SmallVector<mlir::Value> outer = {}) {
  if (outer.size() == shape.size())
    return body(builder, outer, carried);
  return loop(builder, index(builder, 0), index(builder, shape[outer.size()]), carried,
              [&](Builder &inner, mlir::Value iteration, mlir::Value value) {
                llvm::SmallVector<mlir::Value> indices(outer);
                indices.push_back(iteration);
                return loopOver(inner, shape, value, body, indices);
              });
}

/// Returns the result of `then` on `carried` if `condition` holds, otherwise `carried` itself.
inline mlir::Value doIf(Builder &builder, mlir::Value condition, mlir::Value carried,
                        llvm::function_ref<mlir::Value(Builder &)> then) {
  auto branch = mlir::scf::IfOp::create(
      builder, condition,
      [&](mlir::OpBuilder &nested, mlir::Location loc) {
        Builder inner(loc, nested);
        mlir::Value value = then(inner);
        mlir::scf::YieldOp::create(inner, value);
      },
      [&](mlir::OpBuilder &nested, mlir::Location loc) { mlir::scf::YieldOp::create(nested, loc, carried); });
  return branch.getResult(0);
}

} // namespace meshwright::kernel

#endif
