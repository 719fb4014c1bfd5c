//===- Candidate.h - one way to compute an operation ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_CANDIDATE_H
#define MESHWRIGHT_LIB_COMPLETE_CANDIDATE_H

#include "Graph.h"

namespace meshwright::complete {

/// One way to compute an operation along one axis.
struct Candidate {
  enum class Kind : uint8_t { Split, Partial, Whole } kind = Kind::Whole;
  llvm::SmallVector<State, 3> operands;
  llvm::SmallVector<State, 1> results;

  /// Every coordinate computes the whole `op`.
  static Candidate whole(const GraphOp &op);
  /// A factor is split over an axis of size `n`; empty if `op` does not support that.
  static std::optional<Candidate> split(const GraphOp &op, const dist::FactorSplit &split, int64_t n);
  /// The split implied by `state` of operand number `operand`.
  static std::optional<Candidate> byOperand(const GraphOp &op, unsigned operand, const State &state, int64_t n);
  /// The split that leaves result number `result` in `state`.
  static std::optional<Candidate> byResult(const GraphOp &op, unsigned result, const State &state, int64_t n);
};

} // namespace meshwright::complete

#endif
