//===- StagePartition.h - a row of blocks in stages -------------*- C++ -*-===//
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
  /// What is to be balanced: parameters, or operations.
  int64_t cost = 0;
  /// What a stage holds for it all the time, and for each micro-batch that is in flight.
  int64_t bytes = 0, inFlightBytes = 0;
};

/// The bytes that stages hold.
struct StageBytes {
  /// For every stage how many micro-batches it has in flight.
  llvm::ArrayRef<double> inFlight;
  int64_t bound = INT64_MAX;
};

/// For every stage its first block, where all stages have equally many; what remains goes to the last stages. There are
/// at least as many blocks as stages.
llvm::SmallVector<int64_t> cutEvenly(int64_t blocks, int64_t stages);

/// For every stage its first block, such that the largest cost of a stage is least, and then the sum of squares of all
/// costs. No stage is empty or holds more than the bound; none where that cannot be. Exact, by dynamic programming in
/// time stages · blocks².
std::optional<llvm::SmallVector<int64_t>> cutByCost(llvm::ArrayRef<StageBlock> blocks, int64_t stages,
                                                    const StageBytes &held = {});

/// The most bytes that a stage of the cut holds whose stages begin at `firsts`.
int64_t getLargestStage(llvm::ArrayRef<StageBlock> blocks, llvm::ArrayRef<int64_t> firsts,
                        llvm::ArrayRef<double> inFlight);

} // namespace meshwright::annotate

#endif
