//===- KernelMemory.h - decides which values are in memory -------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout operations are never computed where their reader can address through them. What is left over has to be in
// memory: operands of collectives, products and kernels that stand alone, what is assigned and returned. Those are
// views of other memory where they are contiguous, and copied where they are not.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_KERNELMEMORY_H
#define MESHWRIGHT_LIB_KERNELS_KERNELMEMORY_H

#include "Contraction.h"
#include "dialects/Net/Loops.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace meshwright::schedule {

/// Decides for the operations of one block what the libraries compute, of operands that are in memory, and which layout
/// operations and sources are computed after all. Copies that this takes are put into the block.
class KernelMemory {
public:
  KernelMemory(mlir::Block &block, net::LoopNest &nest, OpForms &forms, bool libraryConvolutions);

  /// True if `op`, a layout operation or a source, is computed into memory.
  bool isMaterialized(mlir::Operation *op) const { return materialized.contains(op); }
  /// True if `op` exists from the start: a variable, a constant, a coordinate.
  bool isLeaf(mlir::Operation *op) const;
  /// True if layout operations alone lead from a constant or the like to `value`.
  bool isMadeFromNothing(mlir::Value value) const;

  /// The GEMMs that the library computes, in the order of the block, and their layouts.
  const llvm::MapVector<mlir::Operation *, Product> &getProducts() const { return products; }
  /// The layout in which the library computes `op`; null if it does not.
  const Product *getProduct(mlir::Operation *op) const;
  /// True if `op` is a transposition that a GEMM does by writing its result in that order.
  bool isOfProduct(mlir::Operation *op) const;
  /// True if `op` is a convolution that the library computes, with contiguous operands.
  bool isLibraryConvolution(mlir::Operation *op) const { return convolutions.contains(op); }

  /// The place in memory of element `indices` of `value`.
  View trace(mlir::Value value, llvm::ArrayRef<LinearForm> indices, Variables &variables) const;
  /// The contiguous memory that holds `value`, where there is; its position is a number.
  std::optional<View> find(mlir::Value value) const;

  unsigned getNumCopies() const { return numCopies; }

private:
  void joinReads();
  void separateState();
  void separateCarries();
  void separate(mlir::OpOperand &operand, mlir::Operation *place, mlir::DictionaryAttr on);
  void prepareProducts();
  void prepareProduct(net::DotOp dot);
  bool storeOperand(mlir::Value operand);
  void canonicalizeOperand(net::DotOp dot, bool left);
  bool isDense(mlir::Value value) const;
  void keepOrders();
  void requireMemory();
  mlir::Operation *getBase(mlir::Value value) const;

  mlir::Block &block;
  net::LoopNest &nest;
  OpForms &forms;
  bool libraryConvolutions;
  unsigned numCopies = 0;
  llvm::DenseSet<mlir::Operation *> materialized, convolutions;
  llvm::MapVector<mlir::Operation *, Product> products;
};

} // namespace meshwright::schedule

#endif
