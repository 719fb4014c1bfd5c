//===- KernelProblem.h - states a block as a clustering problem --*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_KERNELPROBLEM_H
#define MESHWRIGHT_LIB_KERNELS_KERNELPROBLEM_H

#include "KernelMemory.h"
#include "meshwright/Kernels/Clustering.h"
#include <optional>

namespace meshwright::schedule {

/// The operations of a block as a problem of clustering: what each reads and how, what it waits for, and what may not
/// be in one kernel. A loop's beginning, its end and what is carried are nodes like others.
class KernelProblem {
public:
  KernelProblem(mlir::Block &block, net::LoopNest &nest, OpForms &forms, const KernelMemory &memory,
                bool libraryEpilogues);

  const ClusterProblem &get() const { return problem; }
  mlir::Operation *getOperation(unsigned node) const { return ops[node]; }
  /// None for leaves, and for what is computed wherever it is read.
  std::optional<unsigned> getNode(mlir::Operation *op) const;
  /// The nodes that read what `node` makes, once for each time.
  llvm::ArrayRef<unsigned> getUsers(unsigned node) const { return usersOf[node]; }

private:
  using Node = ClusterProblem::Node;
  using Access = ClusterProblem::Access;

  void addNode(mlir::Operation *op);
  Node::Kind getKind(mlir::Operation *op, const OpForm &form) const;
  unsigned getMembers(mlir::Operation *op, net::LoopOp loop);
  void addUses(mlir::Operation *op, const OpForm &form, Node &node);
  void addUse(mlir::Value base, Access access, Node &node);
  void addTrigger(mlir::Operation *op, net::LoopOp loop, Node &node) const;
  unsigned getOutermostEnd(unsigned node) const;
  void orderUpdates();
  void findFinishing();

  mlir::Block &block;
  net::LoopNest &nest;
  OpForms &forms;
  const KernelMemory &memory;
  ClusterProblem problem;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
  llvm::SmallVector<llvm::SmallVector<unsigned>> usersOf;
  llvm::DenseMap<mlir::Value, int> valueIds;
  /// Numbers of the properties that the operations of one kernel share: ranks, segment, loop.
  llvm::DenseMap<mlir::Attribute, unsigned> memberIds;
  /// The nodes of every body, and numbers of the loops in order.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 0>> bodies;
  llvm::DenseMap<mlir::Operation *, unsigned> loopIds;
  /// For clones of operations of forward what they are not to come before.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> triggers;
};

} // namespace meshwright::schedule

#endif
