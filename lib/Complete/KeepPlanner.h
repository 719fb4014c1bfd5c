//===- KeepPlanner.h - minimum cut between forward and backward -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out. Backward needs some values of forward; each is kept, or recomputed from values that
// are kept. The fewest bytes to keep are a minimum cut between values that cannot be recomputed and values that are
// needed, where cutting a value costs its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_KEEPPLANNER_H
#define MESHWRIGHT_LIB_COMPLETE_KEEPPLANNER_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace meshwright::complete {

struct KeepProblem {
  struct Value {
    /// The cost of keeping the value; 0 if it is available anyway.
    int64_t bytes = 0;
    /// True if the value may be recomputed from `operands`, which are earlier values.
    bool computable = false;
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
  int64_t bytes = 0;
};

/// The plan that keeps the fewest bytes, and among those the one that recomputes the fewest values. Takes time linear
/// in the number of values times the number of kept ones, so problems should be bounded.
KeepPlan planKept(const KeepProblem &problem);

} // namespace meshwright::complete

#endif
