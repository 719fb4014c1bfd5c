//===- AxisSolver.h - decides the placements on one axis --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_AXISSOLVER_H
#define MESHWRIGHT_LIB_COMPLETE_AXISSOLVER_H

#include "Candidate.h"

namespace meshwright::complete {

/// Decides on one axis what every operation splits and where every value is kept. See AxisSolver.cpp for the algorithm.
class AxisSolver {
public:
  /// `done` are the plans of the axes decided before, by axis; `dataAxis` says that the axis splits the batch, whose
  /// digits are not gathered while there is another way.
  AxisSolver(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis, bool dataAxis,
             llvm::ArrayRef<std::pair<dist::Axis, AxisPlan>> done);

  AxisPlan solve();
  /// How many conversions were priced so far: what the time of a solver is made of.
  int64_t getNumSteps() const { return numSteps; }

private:
  /// The cheapest place to convert a value: where it is, or at the operands of the operation that made it.
  struct Place {
    State target;
    double cost = 0;
    /// How many operations lie between the value and the conversion; 0 at the value itself.
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

  // Costs, in bytes that a rank sends.
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

  /// Whether the placement of `value` is not for a second look to change.
  bool isFixed(ValueIndex value) const { return graph.source[value] || graph.pinned[value] || given[value]; }

  // The second look; each returns whether there is reason for another sweep.
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
  /// How many operations of `order` are constants or made of weights alone.
  size_t numEarly = 0;
  llvm::SmallVector<std::optional<State>, 0> given;
  /// States that a value is offered in because a look at the plan found that it is converted anyway.
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> offered;
  llvm::SmallVector<double, 0> bytes;
  /// Values that are still to be added up over times.
  llvm::SmallVector<bool, 0> isOwedInTime;
  /// Values made of constants alone.
  llvm::SmallVector<bool, 0> constant;
  /// Values made of constants and scalars alone, which any placement has for nothing.
  llvm::SmallVector<bool, 0> derived;

  mutable int64_t numSteps = 0;
  AxisPlan plan;
  /// Where values were kept before the sweep in reverse.
  llvm::SmallVector<State, 0> forward;
  llvm::SmallVector<Candidate::Kind, 0> kinds;
  /// Of values that trips hand on where the next ones were made before they were brought there.
  llvm::SmallVector<State, 0> made;
  llvm::SmallVector<bool, 0> placed;
  /// States in which a value is there beside the one it is kept in, because somebody converts it anyway.
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> available;
  llvm::SmallVector<llvm::SmallVector<Place, 1>, 0> places;
};

} // namespace meshwright::complete

#endif
