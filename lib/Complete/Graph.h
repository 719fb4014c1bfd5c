//===- Graph.h - a program as completion sees it ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations and values by number, with the rules computed once. What one axis decides is kept apart for every axis, so
// that the sweep over an axis reads what the axes before it decided and writes its own column.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_GRAPH_H
#define MESHWRIGHT_LIB_COMPLETE_GRAPH_H

#include "dialects/Dist/ShardingRule.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::complete {

using OpIndex = int;
using ValueIndex = int;

/// The placement of a value on one axis.
struct State {
  enum class Kind : uint8_t { Replicated, Split, Partial } kind = Kind::Replicated;
  dist::ReduceKind reduction = dist::ReduceKind::Sum;
  unsigned dim = 0;
  int64_t extent = 0;
  int64_t stride = 0;

  static State replicated() { return {}; }
  static State partial(dist::ReduceKind kind) { return {Kind::Partial, kind, 0, 0, 0}; }
  static State split(unsigned dim, int64_t extent, int64_t stride) {
    return {Kind::Split, dist::ReduceKind::Sum, dim, extent, stride};
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
  /// How often it is made in a step: more than once in the body of a loop.
  int64_t trips = 1;
  OpIndex def = -1;
  unsigned result = 0;
  llvm::SmallVector<Use, 2> uses;
};

struct GraphOp {
  mlir::Operation *op = nullptr;
  dist::ShardingRule rule;
  llvm::SmallVector<ValueIndex, 3> operands;
  llvm::SmallVector<ValueIndex, 1> results;
  /// Moves or converts the elements of its only operand: what is made of a weight is still one.
  bool layout = false;
  /// Partial operands pass, whatever it costs, and are reduced behind it.
  bool travels = false;
  /// Adds its second operand to what an accumulator holds.
  bool accumulates = false;
  /// Begins a value that the trips of a loop hand on, or hands it on: its first operand becomes the second in the next
  /// trip, and is in the same placement.
  bool carries = false, handsOn = false;
  /// Per axis how the parameter is kept that an accumulator which nobody placed is like; empty for every other
  /// operation.
  llvm::SmallVector<State, 0> like;
  /// A return, an assignment: takes its operands where they are kept.
  bool sink = false;
  /// An assignment of an accumulator that nobody placed: it takes a partial sum as it is.
  bool keepsPartial = false;
  /// Per axis the state in which an assigned variable is kept; empty for every other operation.
  llvm::SmallVector<State, 0> stored;
  /// Per axis the coordinate that alone keeps an assigned variable; empty where everybody does, and for every other
  /// operation.
  llvm::SmallVector<std::optional<int64_t>, 0> storedHolders;
  /// The number of its stage in a pipeline.
  std::optional<int64_t> stage;

  /// Marks the operation as one that partial operands pass, and reads its rule again.
  mlir::LogicalResult setTravels();
};

/// Whether `op`, of rule `rule`, moves or converts the elements of its only operand.
bool isLayout(mlir::Operation *op, const dist::ShardingRule &rule);

/// Whether nobody placed the accumulator `variable`, which a step adds to: it takes the placement of what is added.
bool followsAddend(net::VariableOp variable);

/// The program with the placements that are given.
class Graph {
public:
  /// Numbers the operations of `func`.
  static mlir::FailureOr<Graph> build(mlir::func::FuncOp func, const dist::Mesh &mesh);

  llvm::SmallVector<GraphOp, 0> ops;
  llvm::SmallVector<GraphValue, 0> values;
  /// Per axis and value: the placement that is given, if one is.
  llvm::SmallVector<llvm::SmallVector<std::optional<State>, 0>> given;
  /// Per axis and value: the coordinate that is given to hold it alone, if one is.
  llvm::SmallVector<llvm::SmallVector<std::optional<int64_t>, 0>> holders;
  /// Values that come from outside: arguments and variables. Their placement is given on every axis, but for those of
  /// accumulators that nobody placed: they are kept as what is added is.
  llvm::SmallVector<bool, 0> source;
  /// Sums over times, and what trips of loops hand on: they stay what they are, partial or not.
  llvm::SmallVector<bool, 0> pinned;
  /// Whether `value` is given to one coordinate of some axis.
  bool isHeld(ValueIndex value) const;
  /// The stage of the operation that makes `value`; nothing where that has none, or there is no operation.
  std::optional<int64_t> getStage(ValueIndex value) const;
  /// The state on `axis` in which the variable that sink `op` assigns is kept; nothing for other sinks.
  std::optional<State> stored(OpIndex op, dist::Axis axis) const;
  /// Values that are weights or made of one by layout operations alone.
  llvm::SmallVector<bool, 0> weight;

private:
  ValueIndex addValue(mlir::Value value, OpIndex def, unsigned result);
  mlir::LogicalResult addGiven(ValueIndex value, dist::MappingAttr mapping, const dist::Mesh &mesh, bool everyAxis,
                               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  mlir::LogicalResult addOp(mlir::Operation &op, const dist::Mesh &mesh, mlir::SymbolTableCollection &symbols);
  mlir::LogicalResult countTrips(mlir::Block &block);
  mlir::LogicalResult addLike(GraphOp &entry, const dist::Mesh &mesh, mlir::SymbolTableCollection &symbols);
  mlir::LogicalResult addAssigned(GraphOp &entry, const dist::Mesh &mesh, mlir::SymbolTableCollection &symbols);

  llvm::DenseMap<mlir::Value, ValueIndex> numbers;
};

/// What completion decides on one axis.
struct AxisPlan {
  /// How each operation reads its operands and in which state its results leave the computation.
  llvm::SmallVector<llvm::SmallVector<State, 3>, 0> operands;
  llvm::SmallVector<llvm::SmallVector<State, 1>, 0> computes;
  /// Where each value is kept.
  llvm::SmallVector<State, 0> values;
};

} // namespace meshwright::complete

#endif
