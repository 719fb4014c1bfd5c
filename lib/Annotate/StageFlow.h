//===- StageFlow.h - which stage operations are of --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some operations are of a certain stage; the others go where least is sent. Values flow from stages to greater ones
// (who looks at backward counts the stages the other way round) and are counted at every border between two stages that
// they cross. Plain data: what makes it from a program knows nothing of how it is solved.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGEFLOW_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGEFLOW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace meshwright::annotate {

/// The least and the greatest stage of something.
struct StageRange {
  int64_t first, last;
};

struct StageFlow {
  struct Op {
    StageRange range;
    /// The stage among several at which equally much is sent. Where it is not given, the last one, beside the readers,
    /// or the first one where there are no readers.
    std::optional<int64_t> preferred;
  };
  struct Value {
    int64_t bytes = 0;
    /// The operation that makes it; none where it is there already, in the stages of `range`.
    std::optional<unsigned> producer;
    StageRange range = {0, 0};
    llvm::SmallVector<unsigned, 2> readers;
  };

  int64_t numStages = 1;
  /// An operation reads what earlier ones make.
  llvm::SmallVector<Op, 0> ops;
  llvm::SmallVector<Value, 0> values;
};

/// What cannot be: `op` is of no stage before `first`, because `earlier` is not and it needs what that makes, and of
/// none behind `last`. Both are the same where its own range is empty.
struct StageConflict {
  unsigned earlier, op;
  int64_t first, last;
};

/// Narrows the ranges of operations to what the flow of values allows; none where that is possible for all of them.
std::optional<StageConflict> narrowRanges(StageFlow &flow);

/// A stage for every operation, from ranges that `narrowRanges` accepted, such that the bytes that cross borders are
/// the fewest, and then the operations that are not where they prefer to be.
llvm::SmallVector<int64_t, 0> assignStages(StageFlow flow);

/// The bytes that cross borders, in all.
int64_t countBytes(const StageFlow &flow, llvm::ArrayRef<int64_t> stages);

} // namespace meshwright::annotate

#endif
