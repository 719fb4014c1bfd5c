//===- AxisSweep.h - greedy sweeps over one mesh axis -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_AXISSWEEP_H
#define MESHWRIGHT_LIB_COMPLETE_AXISSWEEP_H

#include "AxisProblem.h"

namespace meshwright::complete {

/// Demands on a sweep beside the problem: placements that the user gave, and those that a look at an earlier plan
/// found.
struct Annotations {
  /// By value: the state in which it is kept.
  llvm::SmallVector<std::optional<State>, 0> given;
  /// By value: states that are free to read, because the value is converted to them anyway.
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> offered;
};

/// Decides forwards, then backwards, which factor every operation splits and in which state every value is kept.
class AxisSweep {
public:
  AxisSweep(const AxisProblem &problem, const Annotations &notes);

  void run();

  /// The bytes of `op` by the best of its candidates, with the states of operands as they are now.
  double getBestCost(OpIndex op);
  /// The only split state in which uses read the replicated `value`; all other uses are collected in `others`.
  std::optional<State> slicedTo(ValueIndex value, llvm::SmallVectorImpl<Use> &others) const;
  /// True if a second look must not change the placement of `value`.
  bool isFixed(ValueIndex value) const { return graph.source[value] || graph.pinned[value] || notes.given[value]; }

  AxisPlan plan;
  /// The states of values before the reverse sweep.
  llvm::SmallVector<State, 0> forward;
  /// For carried values: the state in which the next value is computed, before its conversion.
  llvm::SmallVector<State, 0> made;

private:
  /// The cheapest place to convert a value: at the value, or at the operands of the operations that compute it.
  struct Place {
    State target;
    double cost = 0;
    /// The number of operations between the value and the conversion; 0 at the value itself.
    int length = 0;
  };

  // Costs, in bytes sent per rank.
  double readCost(ValueIndex value, const State &target, int depth = 0);
  double cost(OpIndex op, const Candidate &candidate);
  bool canConvertBefore(ValueIndex value) const;
  const Place *findPlace(ValueIndex value, const State &target) const;
  Place cheapest(ValueIndex value, const State &target, int depth = 0);

  // Candidates of an operation, given the states of its operands.
  std::optional<Candidate> makePartial(OpIndex op, const dist::PartialRule &partial) const;
  std::optional<Candidate> splitByOperand(OpIndex op, unsigned operand) const;
  std::optional<Candidate> anchor(OpIndex op) const;
  int64_t getFirstPriority(OpIndex op) const;
  int64_t getPriority(OpIndex op, const Candidate &candidate) const;
  std::optional<Candidate> passPartials(OpIndex op) const;
  std::optional<Candidate> reduceSplit(OpIndex op) const;
  void addExchanges(OpIndex op, llvm::SmallVectorImpl<Candidate> &candidates) const;
  Candidate choose(OpIndex op, double *chosenCost = nullptr);

  // Forwards.
  void visit(OpIndex op);
  void visitSink(OpIndex op);
  void visitAccumulate(OpIndex op);
  void visitHandOn(OpIndex op);
  void apply(OpIndex op, Candidate candidate);
  void require(OpIndex op, unsigned operand, const State &target);
  bool allPass(llvm::ArrayRef<Use> uses) const;
  void keep(ValueIndex value, int64_t priority = 0);
  State reduceTarget(ValueIndex value) const;
  void settle(ValueIndex value, const State &wanted);
  void addAvailable(ValueIndex value);

  // Backwards.
  void sinkInto(OpIndex op);
  void sweepBack();

  const AxisProblem &problem;
  const Graph &graph;
  const Annotations &notes;
  llvm::SmallVector<Candidate::Kind, 0> kinds;
  llvm::SmallVector<bool, 0> placed;
  /// By value: the priority of the split that the graph states of it or of the values that led to it.
  llvm::SmallVector<int64_t, 0> priorities;
  /// States in which a value is available in addition to its own, because another use converts it anyway.
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> available;
  llvm::SmallVector<llvm::SmallVector<Place, 1>, 0> places;
};

} // namespace meshwright::complete

#endif
