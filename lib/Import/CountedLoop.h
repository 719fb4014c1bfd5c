//===- CountedLoop.h - a loop of StableHLO that counts ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_COUNTEDLOOP_H
#define MESHWRIGHT_LIB_IMPORT_COUNTEDLOOP_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/APSInt.h"

namespace meshwright::importer {

/// A `stablehlo.while` that counts from a constant to a constant in constant steps, so that it is known how often it
/// runs.
class CountedLoop {
public:
  /// No loop runs more often.
  static constexpr int64_t kMaxTrips = 10'000'000;

  /// Looks at `op`; after an error at it nothing.
  static std::optional<CountedLoop> create(mlir::Operation *op);

  mlir::Operation *getOp() const { return op; }
  mlir::Block &getBody() const { return op->getRegion(1).front(); }
  /// All of the body but what returns, which is of a dialect that does not say so.
  auto getBodyOperations() const { return llvm::make_range(getBody().begin(), std::prev(getBody().end())); }
  /// What the body hands to the next trip as value `index`.
  mlir::Value getNext(unsigned index) const { return getBody().back().getOperand(index); }

  /// How often the body runs.
  int64_t getTrips() const { return trips; }
  /// Which of the values counts, what it starts as, and what it grows by.
  unsigned getCounter() const { return counter; }
  const llvm::APSInt &getFirst() const { return first; }
  const llvm::APSInt &getStep() const { return step; }

  /// The number of operations in the body, those of its regions included.
  int64_t countOperations() const;

private:
  explicit CountedLoop(mlir::Operation *op) : op(op) {}

  bool hasForm() const;
  std::optional<llvm::APSInt> getConstant(mlir::Value value) const;
  bool findCounter();
  bool countTrips();

  mlir::Operation *op;
  int64_t trips = 0;
  unsigned counter = 0;
  llvm::APSInt first, step, bound;
  llvm::StringRef direction;
};

/// The integer that a constant of one element makes `value`; nothing if it is something else.
std::optional<llvm::APSInt> getInteger(mlir::Value value);

/// Writes the body as often as it runs.
void unroll(const CountedLoop &loop);
/// Puts the body between a `net.loop` and its end.
void roll(const CountedLoop &loop);

} // namespace meshwright::importer

#endif
