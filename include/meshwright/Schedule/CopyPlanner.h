//===- CopyPlanner.h - when variables of the host travel --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is a row of operations. Some read variables that the host keeps or make new values of them:
//
//     operations      0    1    2    3    4    5
//     fetch of a     [---------]a                      read by 2, starts two operations ahead
//     fetch of b          [---------]b    b            read by 3 and 4, fetched once
//     write-back of a             [---------]          made by 2, waited for two operations behind
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_COPYPLANNER_H
#define MESHWRIGHT_SCHEDULE_COPYPLANNER_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshwright::schedule {

/// Which operations read and make variables of the host. Operations are numbered from 0; `numOperations` is the end of
/// the step, which reads what is returned.
struct CopyProblem {
  struct Read {
    /// The operation that reads, and the one after which it is over: another one where what reads is in flight.
    int64_t operation = 0, last = 0;
  };
  struct Variable {
    int64_t bytes = 0;
    /// By rising operation.
    llvm::SmallVector<Read> reads;
    /// The operation that makes the new value, -1 where it is there from the start; none where nothing is assigned.
    std::optional<int64_t> made;
  };
  llvm::SmallVector<Variable> variables;
  int64_t numOperations = 0;
  /// How many operations a fetch starts ahead, and a write-back may take.
  int64_t prefetch = 0;
  /// Copies that are started and not waited for, at most.
  int64_t maxInFlight = 8;
  /// Bytes on the device with which a fetch may start, its own among them; 0: no bound. What is fetched counts until it
  /// has been read, what is written back until that has been waited for.
  int64_t maxLiveBytes = 0;
};

struct PlannedCopy {
  unsigned variable = 0;
  bool isFetch = true;
  /// Of a fetch: the reads of the variable that it serves.
  unsigned firstRead = 0, endRead = 0;
  /// In front of which operations it starts and is waited for; one more than the end of the step is behind the reads
  /// there.
  int64_t start = -1, wait = -1;

  /// Whether nothing takes place between the two.
  bool isBlocking() const { return start == wait; }
};

struct CopyPlan {
  llvm::SmallVector<PlannedCopy> copies;
  /// In the order in which they take place: a copy starts the first time that it is named, and is waited for the
  /// second.
  llvm::SmallVector<unsigned> events;
  /// The most bytes on the device at a time.
  int64_t liveBytes = 0;
  /// Where the bound on them cannot be kept, and what it would have to be; the plan ends there.
  std::optional<int64_t> tooMuchAt;
};

/// Plans in time linear in operations and reads, but for sorting. Reads that are so near that the next fetch would
/// start before the one before is over share a fetch. Fetches start in the order of their first reads; ahead of time
/// only where the bounds allow it at once. What cannot wait any longer waits for older copies instead.
CopyPlan planCopies(const CopyProblem &problem);

/// What is wrong with a complete plan, whoever made it; empty where nothing is: every read finds the old value fetched,
/// every new value is written back, and the bounds are kept.
std::string checkCopies(const CopyProblem &problem, const CopyPlan &plan);

} // namespace meshwright::schedule

#endif
