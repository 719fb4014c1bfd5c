//===- Report.h - memory, traffic and timeline of a scheduled step -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_REPORT_H
#define MESHWRIGHT_SCHEDULE_REPORT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <string>
#include <vector>

namespace meshwright::schedule {

/// A collective, or a copy between device and host, that is issued or waited for.
struct Event {
  enum Kind { Start, Wait, Blocking } kind = Blocking;
  /// The number of instructions before the event, and the number of its collective or copy in the program, from 0.
  int64_t position = 0, launch = 0;
  /// Kind of the collective; `fetch` or `write_back` for copies.
  std::string collective;
  bool isCopy = false;
  std::vector<std::string> axes;
  /// Names of the values that the event moves, and the bytes of the larger side.
  std::vector<std::string> parts;
  int64_t bytes = 0;
  std::string role;
  /// The segment that a fetch serves.
  std::optional<int64_t> segment;
  /// Number of executions per step: the product of the iterations of the loops around the event.
  int64_t iterations = 1;
};

/// The collectives and copies of a scheduled function in the order of their starts and waits.
std::vector<Event> getTimeline(mlir::func::FuncOp func);

/// Launches, memory and traffic of a step of one rank, read off the scheduled function.
struct Report {
  /// Launches of kernels and of GEMMs of the library, counted in all iterations of loops.
  int64_t numKernels = 0, numProducts = 0;
  /// Bytes of memory that these launches read and write.
  int64_t trafficBytes = 0;
  /// The non-persistent values that live at the busiest moment, largest first, and the sum of their bytes. The arena is
  /// at least that much larger than its persistent part.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> liveAtPeak;
  int64_t liveBytes = 0;
  /// The largest number of bytes that gradients (whole and reduced) and fetched parameters have at a time, each at its
  /// own busiest moment.
  int64_t gradientBytes = 0, fetchedBytes = 0;
  /// The same for values of variables that the host keeps (fetched, or to be written back), and the bytes that copies
  /// move from the host and to it.
  int64_t offloadedBytes = 0, copiedFromHost = 0, copiedToHost = 0;
  /// Values that forward makes and backward reads, in order, with their bytes. Values made of parameters alone are not
  /// counted.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> kept;
};

/// True if `value` is a gradient: named as one, on the way to its reduction, or the result of that reduction. The
/// function has to have been through `dist-schedule-assign-buffers`.
bool isGradient(mlir::Value value);
/// True if `value` is a fetched parameter, in any layout.
bool isFetched(mlir::Value value);

/// Describes a function after `dist-schedule-assign-buffers`.
Report describe(mlir::func::FuncOp func);

} // namespace meshwright::schedule

#endif
