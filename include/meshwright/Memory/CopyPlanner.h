//===- CopyPlanner.h - plans copies between host and device ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is a sequence of operations. Some read variables that the host keeps, or make new values of them:
//
//     operations      0    1    2    3    4    5
//     fetch of a     [---------]a                      read by 2, starts two operations ahead
//     fetch of b          [---------]b    b            read by 3 and 4, fetched once
//     write-back of a             [---------]          made by 2, waited for two operations later
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_MEMORY_COPYPLANNER_H
#define MESHWRIGHT_MEMORY_COPYPLANNER_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshwright::schedule {

/// The operations that read and make variables kept on the host. Operations are numbered from 0; `numOperations` is the
/// end of the step, which reads the results of the program.
struct CopyProblem {
  struct Read {
    /// The operation that reads, and the one after which the read is over; they differ if an asynchronous operation
    /// reads.
    int64_t operation = 0, last = 0;
  };
  struct Variable {
    int64_t bytes = 0;
    /// By increasing operation.
    llvm::SmallVector<Read> reads;
    /// The operation that makes the new value, -1 if it exists from the start; nullopt if the variable is not assigned.
    std::optional<int64_t> made;
  };
  llvm::SmallVector<Variable> variables;
  int64_t numOperations = 0;
  /// The number of operations that a fetch starts ahead of its first read, and that a write-back may take.
  int64_t prefetch = 0;
  /// The most copies that may be started and not yet waited for.
  int64_t maxInFlight = 8;
  /// A fetch starts only while at most this many bytes, including its own, are on the device; 0 for no bound. A fetched
  /// value counts until its last read, a written-back value until its copy has been waited for.
  int64_t maxLiveBytes = 0;
};

struct PlannedCopy {
  unsigned variable = 0;
  bool isFetch = true;
  /// For a fetch: the range of the variable's reads that it serves.
  unsigned firstRead = 0, endRead = 0;
  /// The operations before which the copy starts and is waited for. `numOperations` + 1 is after the reads at the end
  /// of the step.
  int64_t start = -1, wait = -1;

  /// True if the copy is waited for where it starts.
  bool isBlocking() const { return start == wait; }
};

struct CopyPlan {
  llvm::SmallVector<PlannedCopy> copies;
  /// The copies in the order of their starts and waits: the first mention of a copy starts it, the second waits for it.
  llvm::SmallVector<unsigned> events;
  /// The largest number of bytes on the device at a time.
  int64_t liveBytes = 0;
  /// The number of bytes that the bound would have to be, if it cannot be kept; the plan then ends at that point.
  std::optional<int64_t> tooMuchAt;
};

/// Plans in time linear in operations and reads, plus sorting. Reads share a fetch if a second fetch would start before
/// the first one is over. Fetches start in the order of their first reads, and ahead of time only if the bounds allow
/// it immediately. A fetch that can wait no longer first waits for older copies.
CopyPlan planCopies(const CopyProblem &problem);

/// Describes the first error of a complete plan from any source; empty if it is valid: every read finds the old value
/// fetched, every new value is written back, and the bounds are kept.
std::string checkCopies(const CopyProblem &problem, const CopyPlan &plan);

} // namespace meshwright::schedule

#endif
