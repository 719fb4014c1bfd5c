//===- KeepPlanner.h - minimum cut between forward and backward -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out. Backward needs some values of forward; each is kept, or recomputed from values that
// are kept. The choice of the least cost is a minimum cut between what forward has computed and what backward needs:
// a value that is kept costs its bytes, a value that is recomputed the price of its operation.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_KEEPPLANNER_H
#define MESHWRIGHT_LIB_COMPLETE_KEEPPLANNER_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace meshwright::complete {

struct KeepProblem {
  struct Value {
    /// The cost of keeping the value; 0 if it is available anyway.
    int64_t bytes = 0;
    /// The cost of recomputing the value from `operands`, which are earlier values, in bytes that it is worth; none if
    /// that is impossible.
    std::optional<int64_t> price;
    /// True if backward reads the value.
    bool needed = false;
    llvm::SmallVector<unsigned, 3> operands;
  };
  llvm::SmallVector<Value, 0> values;
};

/// A valid plan: every needed value is kept, or computable from kept values. Indexed as the problem's values.
struct KeepPlan {
  llvm::SmallVector<bool, 0> kept;
  /// Values to recompute, for themselves or for another value.
  llvm::SmallVector<bool, 0> computed;
  /// The bytes of the kept values and the prices of the recomputed ones.
  int64_t cost = 0;
};

/// The plan of the least cost, and among those the one that recomputes the fewest values. Takes time linear in the
/// number of values times the number of those that are kept or have a price, so problems should be bounded.
KeepPlan planKept(const KeepProblem &problem);

} // namespace meshwright::complete

#endif
