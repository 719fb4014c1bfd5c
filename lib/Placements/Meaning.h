//===- Meaning.h - parts of values through operations -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PLACEMENTS_MEANING_H
#define MESHWRIGHT_LIB_PLACEMENTS_MEANING_H

#include "dialects/Common/ReduceKind.h"
#include "mlir/IR/Operation.h"

namespace meshwright::placements {

/// The parts that the ranks along one axis have of a value, as far as they are known.
struct State {
  enum Kind {
    /// Nothing is known.
    Unknown,
    /// All have the whole value.
    Whole,
    /// All have the same elements, which are the whole value or as many parts of it: constants, and what is repeated.
    Equal,
    /// Each has its part of one of `dims`.
    Split,
    /// The value is the reduction by `reduction` of what they have.
    Partial,
  };
  Kind kind = Unknown;
  /// The dimensions of which one is split, as bits.
  uint64_t dims = 0;
  ReduceKind reduction = ReduceKind::Sum;

  static State whole() { return {Whole}; }
  static State split(uint64_t dims) { return dims == 0 ? State() : State{Split, dims}; }
  static State partial(ReduceKind reduction) { return {Partial, 0, reduction}; }
  bool isPartialSum() const { return kind == Partial && reduction == ReduceKind::Sum; }
};

/// The state of the results of an operation, or why it may not take its operands: "adds ... to ...".
struct Outcome {
  State result;
  llvm::StringRef mistake = {};
  /// The operand that is at fault.
  unsigned operand = 0;
};

/// The outcome on one axis. `op` is an operation of net with operands and one state for each.
Outcome getOutcome(mlir::Operation *op, llvm::ArrayRef<State> operands);

} // namespace meshwright::placements

#endif
