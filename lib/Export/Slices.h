//===- Slices.h - a batch in slices as a loop -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_SLICES_H
#define MESHWRIGHT_LIB_EXPORT_SLICES_H

#include "Body.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::exporter {

/// A step that goes through its batch in slices: what is done before the first slice, in each of them, and after the
/// last one. Accumulators, which are variables within the step, are values that pass from slice to slice.
class Slices {
public:
  /// The slices of `func` along `axis`. Fails after an error at an operation that reads a value before it is known.
  static mlir::FailureOr<Slices> find(mlir::func::FuncOp func, const dist::Mesh &mesh, dist::Axis axis);

  /// Writes the operations before the first slice and the loop over all slices.
  mlir::LogicalResult write(Body &body, Writer &writer) const;
  /// True if `op` is to be written after the loop: the sums over slices do not need it, or it reads no value of a slice
  /// and something after the loop reads it again.
  bool isAfter(mlir::Operation *op) const;

private:
  enum class Place { After, Each, Before };

  /// A value that passes from one slice to the next or is read after the last one.
  struct Passed {
    /// Its reads as an accumulator in the next slice; none where it is no accumulator.
    llvm::SmallVector<mlir::Value, 1> reads;
    mlir::Value next;
  };

  Slices(mlir::func::FuncOp func, const dist::Mesh &mesh, dist::Axis axis);

  mlir::Operation *getUnit(mlir::Operation *op) const;
  bool isWithinStep(mlir::Operation *variableUser) const;
  bool isSource(mlir::Operation *op) const;
  Place getPlace(mlir::Value value) const;
  void findVarying();
  mlir::LogicalResult place();
  void findPassed();
  void findFetched();

  mlir::Block &block;
  mlir::SymbolTable symbols;
  net::LoopNest nest;
  dist::Axis axis;
  llvm::StringRef axisName;
  int64_t size;
  /// By operation, or by the outermost loop, whose operations are written together; the others stand after the slices.
  llvm::DenseMap<mlir::Operation *, Place> places;
  /// Operations whose results differ between slices or are communicated in each, and those that are repeated after the
  /// loop.
  llvm::DenseSet<mlir::Operation *> varying, repeated;
  llvm::SmallVector<Passed, 0> passed;
  /// Collectives of every slice or after the last one that read no value of a slice.
  llvm::SmallVector<mlir::Operation *> fetches;
  /// The values of variables that collectives of every slice fetch.
  llvm::SetVector<mlir::Value> fetched;
};

} // namespace meshwright::exporter

#endif
