//===- AxisSolver.h - placements on one mesh axis ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_AXISSOLVER_H
#define MESHWRIGHT_LIB_COMPLETE_AXISSOLVER_H

#include "Candidate.h"

namespace meshwright::complete {

/// Decides on one axis which factor every operation splits and in which state every value is kept. AxisSolver.cpp
/// describes the algorithm.
class AxisSolver {
public:
  /// `done` are the plans of the axes decided before. `dataAxis` is set for axes of the batch, whose dimensions are
  /// only gathered as a last resort.
  AxisSolver(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis, bool dataAxis,
             llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> done);

  AxisPlan solve();
  /// The number of conversions priced so far, a measure of the solver's work.
  int64_t getNumSteps() const { return numSteps; }

private:
  /// The cheapest place to convert a value: at the value, or at the operands of the operations that compute it.
  struct Place {
    State target;
    double cost = 0;
    /// The number of operations between the value and the conversion; 0 at the value itself.
    int length = 0;
  };

  // Candidates of an operation.
  std::optional<Candidate> makeSplit(OpIndex op, const dist::FactorSplit &split) const;
  std::optional<Candidate> makePartial(OpIndex op, const dist::PartialRule &partial) const;
  Candidate makeWhole(OpIndex op) const;
  std::optional<Candidate> splitByOperand(OpIndex op, unsigned operand) const;
  std::optional<Candidate> splitByResult(OpIndex op, unsigned result, const State &state) const;
  std::optional<Candidate> anchor(OpIndex op) const;
  std::optional<Candidate> travel(OpIndex op) const;
  bool fits(const Candidate &candidate, OpIndex op) const;
  bool fitsOthers(ValueIndex value, const State &state) const;
  static bool compatible(const State &mine, const State &other);
  static bool isElementwise(const dist::ShardingRule &rule);

  // Costs, in bytes sent per rank.
  double convertBytes(double bytes, const State &from, const State &to) const;
  double convertCost(ValueIndex value, const State &from, const State &to) const;
  double readCost(ValueIndex value, const State &target, int depth = 0);
  bool canConvertBefore(ValueIndex value) const;
  double countBytes() const;
  double cost(OpIndex op, const Candidate &candidate);
  const Place *findPlace(ValueIndex value, const State &target) const;
  Place cheapest(ValueIndex value, const State &target, int depth = 0);

  // The sweeps.
  void run();
  void improve(bool (AxisSolver::*look)());
  void visit(OpIndex op);
  void visitSink(OpIndex op);
  void visitAccumulate(OpIndex op);
  void visitHandOn(OpIndex op);
  void addExchanges(OpIndex op, llvm::SmallVectorImpl<Candidate> &candidates) const;
  Candidate choose(OpIndex op, double *chosenCost = nullptr);
  void apply(OpIndex op, Candidate candidate);
  void require(OpIndex op, unsigned operand, const State &target);
  bool allTravel(llvm::ArrayRef<Use> uses) const;
  void keep(ValueIndex value);
  State reduceTarget(ValueIndex value) const;
  void settle(ValueIndex value, const State &wanted);
  void addAvailable(ValueIndex value);

  /// True if a second look must not change the placement of `value`.
  bool isFixed(ValueIndex value) const { return graph.source[value] || graph.pinned[value] || given[value]; }

  // The second look; each function returns true if another sweep is needed.
  void sweepBack();
  void sinkInto(OpIndex op);
  std::optional<State> slicedTo(ValueIndex value, llvm::SmallVectorImpl<Use> &others) const;
  bool annotateSliced();
  bool annotateStored();
  bool annotateCarried();
  bool wantBefore(OpIndex op, const State &target, double limit,
                  llvm::MutableArrayRef<std::optional<State>> wanted) const;
  bool paysAfter(const Use &use) const;
  bool offerGathered();

  const Graph &graph;
  int64_t n;
  dist::Axis axis;
  bool dataAxis;
  llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> done;
  llvm::SmallVector<OpIndex, 0> order;
  /// The number of operations in `order` that are constants or layouts of weights.
  size_t numEarly = 0;
  llvm::SmallVector<std::optional<State>, 0> given;
  /// States that are offered because a look at the plan found that the value is converted to them anyway.
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> offered;
  llvm::SmallVector<double, 0> bytes;
  /// Values with a pending reduction over times.
  llvm::SmallVector<bool, 0> isOwedInTime;
  /// Values computed from constants alone.
  llvm::SmallVector<bool, 0> constant;
  /// Values computed from constants and scalars alone, which take any placement for free.
  llvm::SmallVector<bool, 0> derived;

  mutable int64_t numSteps = 0;
  AxisPlan plan;
  /// The states of values before the reverse sweep.
  llvm::SmallVector<State, 0> forward;
  llvm::SmallVector<Candidate::Kind, 0> kinds;
  /// For carried values: the state in which the next value is computed, before its conversion.
  llvm::SmallVector<State, 0> made;
  llvm::SmallVector<bool, 0> placed;
  /// States in which a value is available in addition to its own, because another use converts it anyway.
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> available;
  llvm::SmallVector<llvm::SmallVector<Place, 1>, 0> places;
};

} // namespace meshwright::complete

#endif
