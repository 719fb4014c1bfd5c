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
  /// What a stage holds for it.
  int64_t bytes = 0;
};

/// For every stage its first block, where all stages have equally many; what remains goes to the last stages. There are
/// at least as many blocks as stages.
llvm::SmallVector<int64_t> cutEvenly(int64_t blocks, int64_t stages);

/// For every stage its first block, such that the largest cost of a stage is least, and then the sum of squares of all
/// costs. No stage is empty or has more than `maxBytes`; none where that cannot be. Exact, by dynamic programming in
/// time stages · blocks².
std::optional<llvm::SmallVector<int64_t>> cutByCost(llvm::ArrayRef<StageBlock> blocks, int64_t stages,
                                                    int64_t maxBytes = INT64_MAX);

} // namespace meshwright::annotate

#endif
