//===- Actions.h - assigns operations to the actions of a pipeline ---*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of a pipeline consists of *actions*. A stage has actions for its forward and backward (or forward and the two
// halves of backward), each done for every micro-batch. Every transfer between ranks is an action that is started and
// waited for. One more action holds the update and everything else after the last micro-batch, and one at the beginning
// the values that exist before the first, but not on all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINING_WORKS_H
#define MESHWRIGHT_LIB_PIPELINING_WORKS_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Orders/TransferOrder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::schedule {

/// The pipeline of a module: along which axis, and in which order. Backwards are in halves on all micro-batches of a
/// stage or on none.
struct PipelineAxis {
  mlir::StringAttr axis;
  TaskOrder order;

  /// The pipeline axis of `module`; nullopt if it has no pipeline, failure if its description is invalid.
  static mlir::FailureOr<std::optional<PipelineAxis>> find(mlir::ModuleOp module);
};

using ActionIndex = int;

struct Action {
  enum class Kind { Begin, Task, Transfer, Update } kind;
  std::string name;
  /// For tasks only: stage and kind.
  StageTask task{TaskKind::Forward, 0};
  /// In the order of the program.
  llvm::SmallVector<mlir::Operation *, 0> ops = {};
};

/// The actions of a function. Everything here is linear in the operations.
class Actions {
public:
  static constexpr ActionIndex kBegin = 0, kUpdate = 1;

  static mlir::FailureOr<Actions> find(mlir::func::FuncOp func, const dist::Mesh &mesh, const PipelineAxis &pipeline);

  llvm::ArrayRef<Action> get() const { return actions; }
  /// The action that does `op`; none where it is done again by whichever action reads it: what is made of inputs and
  /// constants in few operations.
  std::optional<ActionIndex> find(mlir::Operation *op) const;
  /// The assignment that keeps `value` from one micro-batch to the next, as sums over them are: others read it there.
  /// Null where it is none.
  net::AssignOp getKeeper(mlir::Value value) const { return keepers.lookup(value); }
  /// The action that does a task; none where the order has no such task.
  std::optional<ActionIndex> find(StageTask task) const;
  /// True if an action is done once, before the first micro-batch, and depends on none.
  bool isOnceAtBegin(ActionIndex action) const;
  /// True if `op` only moves the elements of its one operand: other actions then keep the operand instead of the
  /// result.
  static bool isLayout(mlir::Operation *op);

private:
  /// The phase in which a value is known: before all micro-batches, in each of them, or after the last.
  enum class Phase { Early, Each, Late };

  Actions(const dist::Mesh &mesh, const PipelineAxis &pipeline);

  void findKeepers(mlir::Block &block);
  Phase getPhase(mlir::Value value) const;
  Phase getOperandPhase(mlir::Operation *op) const;
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult assignKeeper(net::AssignOp op);
  mlir::LogicalResult assignStaged(mlir::Operation *op, int64_t stage);
  bool isBackward(mlir::Operation *op) const;
  void assignTransfer(mlir::Operation *op);
  void moveToBegin(mlir::Operation *op);
  void stageLong(mlir::Block &block);
  void splitBackward(mlir::Block &block);
  bool isForOthers(mlir::Operation *op, int64_t stage) const;
  bool isTransfer(mlir::Operation *op) const;

  const dist::Mesh &mesh;
  const PipelineAxis &pipeline;
  llvm::SmallVector<Action, 0> actions;
  llvm::DenseMap<mlir::Operation *, ActionIndex> actionOf;
  llvm::DenseMap<mlir::Operation *, Phase> phases;
  llvm::DenseMap<mlir::Value, net::AssignOp> keepers;
  /// The number of operations outside actions that recomputing an operation takes; counting stops just above the limit.
  llvm::DenseMap<mlir::Operation *, int64_t> lengths;
  llvm::DenseMap<std::pair<int, int64_t>, ActionIndex> tasks;
};

} // namespace meshwright::schedule

#endif
