//===- Report.h - what a scheduled step runs and holds ----------*- C++ -*-===//
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
  /// How many instructions come before it, and which collective or copy of the program it is, from 0.
  int64_t position = 0, launch = 0;
  /// Its kind; of copies `fetch` or `write_back`.
  std::string collective;
  bool isCopy = false;
  std::vector<std::string> axes;
  /// What it moves, by name, and the bytes of the larger side.
  std::vector<std::string> parts;
  int64_t bytes = 0;
  std::string role;
  /// The segment that a fetch is for.
  std::optional<int64_t> segment;
  /// How often it takes place, in the trips of the loops around it.
  int64_t trips = 1;
};

/// The collectives and copies of a scheduled function, in the order in which they are issued and waited for.
std::vector<Event> getTimeline(mlir::func::FuncOp func);

/// What a step of one rank runs and holds, read off the scheduled function.
struct Report {
  /// Launches of kernels and of products of the library, in all trips of loops.
  int64_t numKernels = 0, numProducts = 0;
  /// Bytes of memory that they read and write.
  int64_t trafficBytes = 0;
  /// The values beside the persistent ones that live at the busiest moment, the largest first, and their bytes
  /// together. The arena is at least that much larger than its persistent part.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> liveAtPeak;
  int64_t liveBytes = 0;
  /// The most bytes that gradients, whole and reduced, and fetched parameters have at a time, each at its own busiest
  /// moment.
  int64_t gradientBytes = 0, fetchedBytes = 0;
  /// The same of values of variables that the host keeps: fetched, or to be written back; and the bytes that copies
  /// bring from the host and to it.
  int64_t offloadedBytes = 0, copiedFromHost = 0, copiedToHost = 0;
  /// What forward makes and backward reads, in order, with its bytes; what is made of parameters alone is not counted.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> kept;
};

/// Whether a value of a function that `dist-schedule-assign-buffers` has been through is a gradient: named so, on the
/// way to its reduction, or what that made.
bool isGradient(mlir::Value value);
/// Whether it is a fetched parameter, or that in another layout.
bool isFetched(mlir::Value value);

/// Describes a function that `dist-schedule-assign-buffers` has been through.
Report describe(mlir::func::FuncOp func);

} // namespace meshwright::schedule

#endif
