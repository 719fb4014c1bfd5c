//===- KernelPlan.h - plans the loops of a kernel ------------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel is a graph of `linalg.generic`s over one *domain* of N = rows × columns elements. Its plan follows the
// outputs back to the inputs, element by element: a *node* is the element of a value at given indices, which are linear
// forms of the loop variables. Layout operations vanish in the indices.
//
//     for every row                          the outer dimensions of the domain
//       stage 0: for every column            the inner dimensions, the last of them in vectors
//         row reductions of stage 0, outputs and accumulations that need no row reduction
//       stage 1: for every column            what needs the results of stage 0
//         ...
//
// A *row reduction* reduces the columns and is known at the end of its stage. Any other reduction is an *accumulation*:
// it adds to its output in memory, in the order of the loops, and is known when the kernel ends.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_KERNELPLAN_H
#define MESHWRIGHT_KERNELS_KERNELPLAN_H

#include "meshwright/Kernels/LinearForm.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include <memory>

namespace meshwright::schedule {

/// One element of a value.
struct Node {
  enum Kind { Load, Constant, Compute, RowResult };
  Kind kind;
  mlir::Value value;
  llvm::SmallVector<LinearForm> indices;
  /// Load: the kernel's argument and the row-major position in it. RowResult: the index of the reduction.
  unsigned index = 0;
  LinearForm position;
  /// Compute: the operation, the value of its body that the node stands for, and the nodes of its inputs and of the
  /// elements that the body extracts.
  mlir::linalg::GenericOp op;
  mlir::Value yielded;
  llvm::SmallVector<Node *> operands;
  llvm::MapVector<mlir::Operation *, Node *> extracts;
  /// The forms of the body's `linalg.index` operations.
  llvm::MapVector<mlir::Operation *, LinearForm> indexForms;
  /// True if the node changes along a row.
  bool column = false;
  /// The first stage in which it can be computed.
  unsigned stage = 0;
  /// True if recomputing the node costs more than keeping it.
  bool expensive = false;
};

struct Reduction {
  mlir::linalg::GenericOp op;
  /// The combining operation in the body.
  mlir::Operation *combiner;
  /// The value that is combined, at the domain's position.
  Node *input;
  /// The value that the reduction starts from.
  mlir::TypedAttr neutral;
  bool row;
  /// The output that an accumulation adds to, and the position in it; nullopt for row reductions.
  std::optional<unsigned> output;
  LinearForm position;
};

struct Store {
  Node *node;
  unsigned output;
  LinearForm position;
};

struct KernelPlan {
  /// Plans the kernel that `body` computes: the block's arguments are the inputs, `outputs` the values that leave the
  /// kernel. Returns null and sets `reason` if an operation is neither element-wise nor a reduction. With a `domain`
  /// every dimension of it, except those of extent 1, is a loop of its own, and no loops are joined.
  static std::unique_ptr<KernelPlan> create(mlir::Block &body, mlir::ValueRange outputs, std::string &reason,
                                            llvm::ArrayRef<int64_t> domain = {});

  /// The loops by their variables: row loops first, then column loops.
  llvm::SmallVector<unsigned> loops;
  unsigned numRowLoops = 0;
  unsigned numStages = 1;
  Variables variables;
  /// For every computed variable, the node whose body computes it and the value in that body.
  llvm::MapVector<unsigned, std::pair<Node *, mlir::Value>> computed;
  llvm::SmallVector<Reduction> reductions;
  llvm::SmallVector<Store> stores;

  bool isColumn(const LinearForm &form) const;
  /// The number of columns.
  int64_t getNumColumns() const;

  std::vector<std::unique_ptr<Node>> nodes;
};

/// True if `op` is a layout operation: it copies elements of its input.
bool isMove(mlir::linalg::GenericOp op);
/// The combination at the end of a reduction's body; null where the body has another form.
mlir::Operation *getCombiner(mlir::linalg::GenericOp op);
/// The number of elements that a reduction of the innermost dimensions keeps; -1 for any other operation.
int64_t getKeptElements(mlir::linalg::GenericOp op);
/// True if every iterator of `op` is parallel.
bool isParallel(mlir::linalg::GenericOp op);

} // namespace meshwright::schedule

#endif
