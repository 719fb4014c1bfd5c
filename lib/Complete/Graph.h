//===- Graph.h - numbered operations with sharding rules --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations and values by number, with their rules computed once. Decisions are stored per axis: the sweep over an
// axis reads the columns of earlier axes and writes its own.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_GRAPH_H
#define MESHWRIGHT_LIB_COMPLETE_GRAPH_H

#include "dialects/Dist/ShardingRule.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::complete {

using OpIndex = int;
using ValueIndex = int;

/// The placement of a value on one axis.
struct State {
  enum class Kind : uint8_t { Replicated, Split, Partial } kind = Kind::Replicated;
  ReduceKind reduction = ReduceKind::Sum;
  unsigned dim = 0;
  int64_t extent = 0;
  int64_t stride = 0;

  static State replicated() { return {}; }
  static State partial(ReduceKind kind) { return {Kind::Partial, kind, 0, 0, 0}; }
  static State split(unsigned dim, int64_t extent, int64_t stride) {
    return {Kind::Split, ReduceKind::Sum, dim, extent, stride};
  }
  bool isReplicated() const { return kind == Kind::Replicated; }
  bool isSplit() const { return kind == Kind::Split; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool operator==(const State &) const = default;
};

/// One use of a value.
struct Use {
  OpIndex op;
  unsigned operand;
};

struct GraphValue {
  mlir::Value value;
  llvm::SmallVector<int64_t, 4> shape;
  int64_t bytes = 0;
  /// The number of times it is computed per step: more than 1 in the body of a loop.
  int64_t iterations = 1;
  OpIndex def = -1;
  unsigned result = 0;
  llvm::SmallVector<Use, 2> uses;
};

struct GraphOp {
  mlir::Operation *op = nullptr;
  dist::ShardingRule rule;
  llvm::SmallVector<ValueIndex, 3> operands;
  llvm::SmallVector<ValueIndex, 1> results;
  /// Moves or converts the elements of its only operand, so that a layout of a weight is a weight.
  bool layout = false;
  /// Partial operands pass at any cost and are reduced after the operation.
  bool defersReduction = false;
  /// Adds its second operand to an accumulator.
  bool accumulates = false;
  /// Begins a value carried by a loop (`carries`), or passes it to the next iteration (`handsOn`): then operand 0 is
  /// the next value of operand 1, and both have the same placement.
  bool carries = false, handsOn = false;
  /// For an accumulator without a placement: the storage placement of its parameter, per axis. Otherwise empty.
  llvm::SmallVector<State, 0> like;
  /// A return or an assignment: reads its operands in the placement in which they are kept.
  bool sink = false;
  /// An assignment of an accumulator without a placement, which takes a partial sum as it is.
  bool keepsPartial = false;
  /// For an assignment: the storage placement of the variable, per axis. Otherwise empty.
  llvm::SmallVector<State, 0> stored;
  /// For an assignment: the owner of the variable on each axis, if it has one. Otherwise empty.
  llvm::SmallVector<std::optional<int64_t>, 0> storedHolders;
  /// The stage of the operation in a pipeline.
  std::optional<int64_t> stage;

  /// Marks the operation as one that partial operands pass, and updates its rule.
  mlir::LogicalResult setDefersReduction();
};

/// True if `op`, with the rule `rule`, moves or converts the elements of its only operand.
bool isLayout(mlir::Operation *op, const dist::ShardingRule &rule);

/// True if `variable` is an accumulator without a placement: it takes the placement of its addend.
bool followsAddend(net::VariableOp variable);

/// The program with its given placements.
class Graph {
public:
  /// Numbers the operations of `func`.
  static mlir::FailureOr<Graph> build(mlir::func::FuncOp func, const dist::Mesh &mesh);

  llvm::SmallVector<GraphOp, 0> ops;
  llvm::SmallVector<GraphValue, 0> values;
  /// The given placement per axis and value, if any.
  llvm::SmallVector<llvm::SmallVector<std::optional<State>, 0>> given;
  /// The given owner per axis and value, if any.
  llvm::SmallVector<llvm::SmallVector<std::optional<int64_t>, 0>> holders;
  /// Dimensions that no axis may split beside those given, by value; empty for most.
  llvm::DenseMap<ValueIndex, llvm::SmallVector<bool>> closed;
  /// By axis: the priorities of splits that the graph states, of values for which they are not 0. A smaller one comes
  /// first.
  llvm::SmallVector<llvm::DenseMap<ValueIndex, int64_t>, 0> priorities;
  /// True if the graph states different priorities on an axis.
  bool hasPriorities(dist::Axis axis) const { return !priorities[axis].empty(); }
  /// The priority of the split of `value` over `axis` that the graph states.
  int64_t getPriority(dist::Axis axis, ValueIndex value) const { return priorities[axis].lookup(value); }
  /// Values that are kept alike, by group.
  llvm::MapVector<int64_t, llvm::SmallVector<ValueIndex>> groups;
  /// Values from outside: arguments and reads. Their placement is given on every axis, except for accumulators without
  /// a placement, which follow their addend.
  llvm::SmallVector<bool, 0> source;
  /// Sums over times and values carried by loops, whose state is fixed, partial or not.
  llvm::SmallVector<bool, 0> pinned;
  /// True if `value` has an owner on some axis.
  bool isHeld(ValueIndex value) const;
  /// The stage of the operation that computes `value`; empty if there is none.
  std::optional<int64_t> getStage(ValueIndex value) const;
  /// The storage state on `axis` of the variable that sink `op` assigns; empty for other sinks.
  std::optional<State> stored(OpIndex op, dist::Axis axis) const;
  /// True for weights, for values computed from a weight by layout operations alone, and for weights side by side.
  llvm::SmallVector<bool, 0> weight;

private:
  ValueIndex addValue(mlir::Value value, OpIndex def, unsigned result);
  mlir::LogicalResult addGiven(ValueIndex value, dist::MappingAttr mapping, const dist::Mesh &mesh, bool everyAxis,
                               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  mlir::LogicalResult addOp(mlir::Operation &op, const dist::Mesh &mesh, mlir::SymbolTableCollection &symbols);
  mlir::LogicalResult countIterations(mlir::Block &block);
  void addConstraint(given::ConstrainOp op, ValueIndex value, const dist::Mesh &mesh);
  void addPriorities(ValueIndex value, given::ShardingAttr sharding, const dist::Mesh &mesh);
  mlir::LogicalResult addLike(GraphOp &entry, const dist::Mesh &mesh, mlir::SymbolTableCollection &symbols);
  mlir::LogicalResult addAssigned(GraphOp &entry, const dist::Mesh &mesh, mlir::SymbolTableCollection &symbols);

  llvm::DenseMap<mlir::Value, ValueIndex> numbers;
  /// The mesh for which the graph states shardings; null if it states none.
  given::MeshAttr stated;
};

/// The decisions on one axis.
struct AxisPlan {
  /// The states in which each operation reads its operands and computes its results.
  llvm::SmallVector<llvm::SmallVector<State, 3>, 0> operands;
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> computes;
  /// The state in which each value is kept.
  llvm::SmallVector<State, 0> values;
};

} // namespace meshwright::complete

#endif
