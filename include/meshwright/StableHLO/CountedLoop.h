//===- CountedLoop.h - loops with a constant iteration count ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STABLEHLO_COUNTEDLOOP_H
#define MESHWRIGHT_STABLEHLO_COUNTEDLOOP_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/APSInt.h"

namespace meshwright::importer {

/// A `stablehlo.while` that counts from a constant to a constant in constant steps, so that its iteration count is
/// known at compile time.
class CountedLoop {
public:
  /// The largest supported iteration count.
  static constexpr int64_t kMaxIterations = 10'000'000;

  /// Analyzes `op`; emits an error at it and returns nothing if it is not such a loop.
  static std::optional<CountedLoop> create(mlir::Operation *op);

  mlir::Operation *getOp() const { return op; }
  mlir::Block &getBody() const { return op->getRegion(1).front(); }
  /// The operations of the body without its return, which is not registered as a terminator.
  auto getBodyOperations() const { return llvm::make_range(getBody().begin(), std::prev(getBody().end())); }
  /// The value that the body passes to the next iteration as value `index`.
  mlir::Value getNext(unsigned index) const { return getBody().back().getOperand(index); }

  /// The iteration count.
  int64_t getIterations() const { return iterations; }
  /// The index of the counter among the loop's values, its initial value and its step.
  unsigned getCounter() const { return counter; }
  const llvm::APSInt &getFirst() const { return first; }
  const llvm::APSInt &getStep() const { return step; }

  /// The number of operations in the body, including nested ones.
  int64_t countOperations() const;

private:
  explicit CountedLoop(mlir::Operation *op) : op(op) {}

  bool hasForm() const;
  std::optional<llvm::APSInt> getConstant(mlir::Value value) const;
  bool findCounter();
  bool countIterations();

  mlir::Operation *op;
  int64_t iterations = 0;
  unsigned counter = 0;
  llvm::APSInt first, step, bound;
  llvm::StringRef direction;
};

/// The value of a scalar integer constant; empty if `value` is anything else.
std::optional<llvm::APSInt> getInteger(mlir::Value value);

/// Replaces the loop by one copy of its body per iteration.
void unroll(const CountedLoop &loop);
/// Converts the loop to a `net.loop`.
void roll(const CountedLoop &loop);

} // namespace meshwright::importer

#endif
