//===- SliceSolver.h - placements along the slices of a batch ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_SLICESOLVER_H
#define MESHWRIGHT_LIB_COMPLETE_SLICESOLVER_H

#include "Candidate.h"

namespace meshwright::complete {

/// Decides on an axis of slices which operations are computed per slice, which values are summed over the slices, and
/// which operations precede or follow the slices. No data is sent along the axis, so there are no alternatives and no
/// costs.
///
/// A value that depends on the batch is *split*: every slice has its own part. A sum to which every slice contributes
/// is *partial*. All other values are replicated: *early* if they do not depend on the batch, *late* if they depend on
/// a sum over all slices. No operation may read split and late values together. A value that depends on inputs alone is
/// therefore never late: sums over the batch that depend on it are computed from the whole batch, repeatedly in every
/// slice.
class SliceSolver {
public:
  SliceSolver(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis);

  /// The plan; arguments are kept whole and read in slices. Errors are located at operations that need values of other
  /// slices.
  mlir::FailureOr<AxisPlan> solve();
  /// Conversions to wider floats that a sum over the slices passes; the sum is then kept in the wider type.
  llvm::ArrayRef<OpIndex> getWidened() const { return widened; }

private:
  struct Info {
    /// The state in which the value is read in the loop over slices.
    State state;
    /// True if the value depends on inputs and constants alone.
    bool ofInputs = false;
    /// True if a split value is also available whole: inputs, and early values that sums over the batch depend on.
    bool whole = false;
    /// The sum over the slices on which a late value depends; empty for other values.
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
  /// The number of sums and concatenations over the slices.
  int64_t numMade = 0;
  /// The first value in a loop that would have to be such a sum.
  std::optional<ValueIndex> addedInLoop;
};

} // namespace meshwright::complete

#endif
