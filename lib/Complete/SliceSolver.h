//===- SliceSolver.h - what happens slice by slice --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_SLICESOLVER_H
#define MESHWRIGHT_LIB_COMPLETE_SLICESOLVER_H

#include "Candidate.h"

namespace meshwright::complete {

/// Decides on an axis of slices: what is computed for every slice, what is added up over them, what is done before and
/// after. Nothing is ever sent along the axis, so there is no choice to be made and nothing to be priced.
///
/// What depends on the batch is *split*: every slice has its own. What a slice only contributes to is *partial*. All
/// else is replicated: *early* where it does not depend on the batch, *late* where it depends on a sum over all slices.
/// An operation reads what is split and what is late together in no way. What depends on inputs alone is therefore
/// never late: where a sum over the batch is made of it, it is computed of the whole batch, again for every slice.
class SliceSolver {
public:
  SliceSolver(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis);

  /// The plan, in which arguments are kept whole and read in slices. The error is at an operation that needs what
  /// other slices have.
  mlir::FailureOr<AxisPlan> solve();
  /// Conversions to wider floats that a sum over the slices passes, so that it is kept in the wider type.
  llvm::ArrayRef<OpIndex> getWidened() const { return widened; }

private:
  struct Info {
    /// In which state the value is read in the loop over the slices.
    State state;
    /// Depends on inputs and constants alone.
    bool ofInputs = false;
    /// Split, and there whole as well: inputs, and what sums over the batch are made of early.
    bool whole = false;
    /// The sum over the slices that it waits for; nothing where it is not late.
    std::optional<ValueIndex> waitsFor;
  };

  mlir::LogicalResult visit(OpIndex op);
  void visitSink(OpIndex op);
  mlir::FailureOr<Candidate> choose(OpIndex op) const;
  bool works(OpIndex op, const Candidate &candidate) const;
  bool passes(OpIndex op) const;
  bool isSumOfOther(ValueIndex value, OpIndex op) const;
  bool isEven(const State &state) const { return !state.isSplit() || state.extent == state.stride * n; }
  void apply(OpIndex op, const Candidate &candidate);
  void keep(ValueIndex value);
  void addUp(ValueIndex value);
  void makeWhole(ValueIndex value);
  void sinkInto(OpIndex op);
  mlir::InFlightDiagnostic explain(OpIndex op) const;

  const Graph &graph;
  int64_t n;
  std::string name;
  AxisPlan plan;
  llvm::SmallVector<Info, 0> infos;
  llvm::SmallVector<OpIndex, 0> widened;
  /// How many sums are made over the slices, and values put together of them.
  int64_t numMade = 0;
  /// The first value of a loop's trips that would be such a sum.
  std::optional<ValueIndex> addedInLoop;
};

} // namespace meshwright::complete

#endif
