//===- KeepPlanner.h - what is kept for backward ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out. Backward needs some values of forward. Each of them is kept, or computed once more
// from others that are. The fewest bytes to keep are a minimum cut between what cannot be computed again and what is
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
    /// What keeping it costs; 0 for what is there anyway.
    int64_t bytes = 0;
    /// Whether it may be computed again, from `operands`, which come before it.
    bool computable = false;
    /// Whether backward reads it.
    bool needed = false;
    llvm::SmallVector<unsigned, 3> operands;
  };
  llvm::SmallVector<Value, 0> values;
};

/// Values by number, of which each needed one is kept or can be computed from kept ones.
struct KeepPlan {
  llvm::SmallVector<bool, 0> kept;
  /// Those that are computed again, for needed values or on the way to them.
  llvm::SmallVector<bool, 0> computed;
  int64_t bytes = 0;
};

/// The plan that keeps the fewest bytes; among those the one that computes least. Takes time in the number of values
/// times the number of kept ones: problems are to be bounded.
KeepPlan planKept(const KeepProblem &problem);

} // namespace meshwright::complete

#endif
