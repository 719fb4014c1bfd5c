//===- ScheduleWriter.h - the order of a program's tasks --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_SCHEDULEWRITER_H
#define MESHWRIGHT_LIB_EMIT_SCHEDULEWRITER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "package.pb.h"

namespace meshwright::emit {

/// The name of the task that `func` becomes, made of its action and times; programs of other ranks have other names.
std::string getTaskName(mlir::func::FuncOp func);

/// Writes in which order the tasks of `program` run, which are those of `variants`, in their order. In a pipeline that
/// is what the `dist.schedule` of the module for these ranks says, and adds tasks that wait.
mlir::LogicalResult writeSchedule(llvm::ArrayRef<mlir::func::FuncOp> variants, Program &program);

} // namespace meshwright::emit

#endif
