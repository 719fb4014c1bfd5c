//===- Report.h - what a scheduled step runs and holds ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_REPORT_H
#define MESHWRIGHT_SCHEDULE_REPORT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::schedule {

/// What a step of one rank runs and holds, read off the scheduled function.
struct Report {
  /// Launches of kernels and of products of the library.
  int64_t numKernels = 0, numProducts = 0;
  /// Bytes of memory that they read and write.
  int64_t trafficBytes = 0;
  /// The values beside the persistent ones that live at the busiest moment, the largest first, and their bytes
  /// together. The arena is at least that much larger than its persistent part.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> liveAtPeak;
  int64_t liveBytes = 0;
};

/// Describes a function that `dist-schedule-assign-buffers` has been through.
Report describe(mlir::func::FuncOp func);

} // namespace meshwright::schedule

#endif
