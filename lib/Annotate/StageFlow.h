//===- StageFlow.h - stages with the least traffic --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some operations have a fixed stage; all others go where the least is sent. Values flow to greater stages (for
// backward the stages are numbered in reverse) and count at every border that they cross. Plain data, independent of
// the IR.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGEFLOW_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGEFLOW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace meshwright::annotate {

/// The first and the last allowed stage.
struct StageRange {
  int64_t first, last;
};

struct StageFlow {
  struct Op {
    StageRange range;
    /// The stage to prefer among those with equal traffic. By default the last one, next to the readers; without
    /// readers the first one.
    std::optional<int64_t> preferred;
  };
  struct Value {
    int64_t bytes = 0;
    /// The operation that computes the value; empty if it is already available in the stages of `range`.
    std::optional<unsigned> producer;
    StageRange range = {0, 0};
    llvm::SmallVector<unsigned, 2> readers;
  };

  int64_t numStages = 1;
  /// Operations in topological order.
  llvm::SmallVector<Op, 0> ops;
  llvm::SmallVector<Value, 0> values;
};

/// A contradiction: `op` cannot be in a stage before `first`, because it depends on `earlier`, nor in one after `last`.
/// `earlier` equals `op` if the operation's own range is empty.
struct StageConflict {
  unsigned earlier, op;
  int64_t first, last;
};

/// Narrows the ranges of operations to those that the flow of values allows. Returns a contradiction if there is one.
std::optional<StageConflict> narrowRanges(StageFlow &flow);

/// Assigns a stage to every operation, given ranges that `narrowRanges` has accepted: with the fewest bytes across
/// borders, and then the fewest operations away from their preferred stage.
llvm::SmallVector<int64_t, 0> assignStages(StageFlow flow);

/// The total of bytes across borders.
int64_t countBytes(const StageFlow &flow, llvm::ArrayRef<int64_t> stages);

} // namespace meshwright::annotate

#endif
