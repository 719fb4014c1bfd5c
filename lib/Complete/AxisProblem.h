//===- AxisProblem.h - placements to decide on one mesh axis ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_AXISPROBLEM_H
#define MESHWRIGHT_LIB_COMPLETE_AXISPROBLEM_H

#include "Candidate.h"
#include "ConversionPrices.h"

namespace meshwright::complete {

/// The facts about one axis that no sweep changes: sizes, the order of visits, and what other axes have decided.
class AxisProblem {
public:
  /// `done` are the plans of the axes decided before. `dataAxis` is set for axes of the batch, whose dimensions are
  /// only gathered as a last resort.
  AxisProblem(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis, bool dataAxis,
              llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> done);

  /// True if `value` can be kept in `state`, given the axes decided before and the given placements on all others.
  bool fitsOthers(ValueIndex value, const State &state) const;
  /// True if `op` can be computed so beside what other axes have decided.
  bool fits(const Candidate &candidate, OpIndex op) const;

  // Candidates that fit; nothing where there is none.
  std::optional<Candidate> makeSplit(OpIndex op, const dist::FactorSplit &split) const;
  std::optional<Candidate> splitByOperand(OpIndex op, unsigned operand, const State &state) const;
  std::optional<Candidate> splitByResult(OpIndex op, unsigned result, const State &state) const;
  /// The even splits of the factors of `op`: of each factor as a whole, and by the period with which tensors begin and
  /// end in it, such as the thirds that slices take of a fused projection.
  llvm::SmallVector<Candidate, 4> listSplits(OpIndex op) const;
  Candidate makeWhole(OpIndex op) const { return Candidate::whole(graph.ops[op]); }

  /// The bytes that a rank sends for one conversion of `value`.
  double convertBytes(ValueIndex value, const State &from, const State &to) const;
  /// The cost of one conversion: its bytes, or more if it should be avoided.
  double convertCost(ValueIndex value, const State &from, const State &to) const;
  /// The number of conversions priced so far, a measure of the work.
  int64_t getNumSteps() const { return numSteps; }

  const Graph &graph;
  /// The size of the axis.
  const int64_t n;
  const dist::Axis axis;
  const bool dataAxis;
  /// All operations in the order in which they are decided; the first `numEarly` are constants and layouts of weights.
  llvm::SmallVector<OpIndex, 0> order;
  size_t numEarly = 0;
  /// By value: the bytes of what the other axes leave of it, times the iterations of its loop.
  llvm::SmallVector<double, 0> bytes;
  /// By value: has a pending reduction over times.
  llvm::SmallVector<bool, 0> isOwedInTime;
  /// By value: computed from constants and scalars alone, so that it takes any placement for free.
  llvm::SmallVector<bool, 0> derived;

private:
  void weigh(const dist::Mesh &mesh);
  void putInOrder();

  llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> done;
  ConversionPrices prices;
  mutable int64_t numSteps = 0;
};

} // namespace meshwright::complete

#endif
