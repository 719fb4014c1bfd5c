//===- TaskWriter.h - writes the instructions of a function -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_TASKWRITER_H
#define MESHWRIGHT_LIB_EMIT_TASKWRITER_H

#include "BufferTable.h"
#include "Tables.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::emit {

/// Writes the instructions of one function, operation by operation in their order.
class TaskWriter {
public:
  /// Instructions are added to `task` of `program`, and what they need to `buffers` and `tables`.
  TaskWriter(mlir::func::FuncOp func, const net::LoopNest &nest, BufferTable &buffers, Tables &tables, Program &program,
             Task &task)
      : func(func), nest(nest), buffers(buffers), tables(tables), program(program), task(task) {}

  /// Fails at operations that Schedule does not leave.
  mlir::LogicalResult add(mlir::Operation &op);

private:
  Instruction *startInstruction(mlir::Operation *op);
  void addKernel(dist::KernelOp op, Instruction &instruction);
  int64_t getAlignment(const Kernel &kernel) const;
  void addMatmul(dist::MatmulOp op, Instruction &instruction);
  void addCollective(dist::CollectiveOp op, Instruction &instruction);
  void addHostCopy(dist::CopyOp op, Instruction &instruction);
  void addWait(dist::WaitOp op, Instruction &instruction);
  void addCoordinate(dist::CoordinateOp op, uint32_t buffer);
  void addLoop(net::LoopOp op);
  bool isMadeInPlace(net::StackOp op);
  void addAssign(net::AssignOp op);
  void addOutputs(mlir::func::ReturnOp op);
  void copyOutputs(mlir::func::ReturnOp op);
  void addCopy(mlir::Operation *op, uint32_t from, uint32_t to);

  mlir::func::FuncOp func;
  const net::LoopNest &nest;
  BufferTable &buffers;
  Tables &tables;
  Program &program;
  Task &task;
  /// The product that is the last instruction of the task, while it is.
  dist::MatmulOp lastProduct;
  /// Tags of collectives and copies that are only started.
  llvm::DenseMap<mlir::Operation *, uint32_t> tags;
  uint32_t nextTag = 0, nextCopyTag = 0;
};

} // namespace meshwright::emit

#endif
