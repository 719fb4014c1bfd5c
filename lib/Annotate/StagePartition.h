//===- StagePartition.h - optimal cuts of a row of blocks -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGEPARTITION_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGEPARTITION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace meshwright::annotate {

struct StageBlock {
  /// The quantity to balance: parameters or operations.
  int64_t cost = 0;
  /// Memory for the whole step, and memory per micro-batch in flight.
  int64_t bytes = 0, inFlightBytes = 0;
};

/// The memory of stages.
struct StageBytes {
  /// The number of micro-batches in flight per stage.
  llvm::ArrayRef<double> inFlight;
  int64_t bound = INT64_MAX;
};

/// The first block of every stage, for stages of equally many blocks; the last stages take the remainder. Requires at
/// least as many blocks as stages.
llvm::SmallVector<int64_t> cutEvenly(int64_t blocks, int64_t stages);

/// The first block of every stage such that the largest cost of a stage is least, and then the sum of squared costs. No
/// stage is empty or holds more than the bound; empty if that is impossible. Exact, by dynamic programming in O(stages
/// · blocks²).
std::optional<llvm::SmallVector<int64_t>> cutByCost(llvm::ArrayRef<StageBlock> blocks, int64_t stages,
                                                    const StageBytes &held = {});

/// The most bytes that a stage holds if the stages begin at `firsts`.
int64_t getLargestStage(llvm::ArrayRef<StageBlock> blocks, llvm::ArrayRef<int64_t> firsts,
                        llvm::ArrayRef<double> inFlight);

} // namespace meshwright::annotate

#endif
