//===- StagePartition.cpp - a row of blocks in stages ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagePartition.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace meshwright;
using llvm::ArrayRef;
using llvm::SmallVector;

SmallVector<int64_t> annotate::cutEvenly(int64_t blocks, int64_t stages) {
  SmallVector<int64_t> firsts;
  int64_t larger = blocks % stages, first = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    firsts.push_back(first);
    first += blocks / stages + (stage >= stages - larger ? 1 : 0);
  }
  return firsts;
}

namespace {

/// Sums of costs and their squares: no number of blocks overflows them.
using Cost = long double;

/// Finds the cut whose stages have the least total, where `join` adds a stage's cost to the total of those before.
class Cutter {
public:
  Cutter(ArrayRef<annotate::StageBlock> blocks, int64_t stages, int64_t maxBytes)
      : stages(stages), maxBytes(maxBytes), costs{0}, bytes{0} {
    for (annotate::StageBlock block : blocks) {
      costs.push_back(costs.back() + static_cast<Cost>(block.cost));
      bytes.push_back(bytes.back() + static_cast<Cost>(block.bytes));
    }
  }

  struct Result {
    Cost total;
    SmallVector<int64_t> firsts;
  };
  /// No stage costs more than `limit`.
  std::optional<Result> run(Cost limit, llvm::function_ref<Cost(Cost, Cost)> join) const;

private:
  bool fits(size_t begin, size_t end, Cost limit) const {
    return costs[end] - costs[begin] <= limit && bytes[end] - bytes[begin] <= static_cast<Cost>(maxBytes);
  }

  int64_t stages, maxBytes;
  /// Of the blocks before each.
  SmallVector<Cost> costs, bytes;
};

} // namespace

std::optional<Cutter::Result> Cutter::run(Cost limit, llvm::function_ref<Cost(Cost, Cost)> join) const {
  size_t numBlocks = costs.size() - 1;
  struct Best {
    Cost total;
    size_t first;
  };
  // For every number of stages and of blocks in them.
  std::vector<std::vector<std::optional<Best>>> best(stages + 1, std::vector<std::optional<Best>>(numBlocks + 1));
  best[0][0] = Best{0, 0};
  for (int64_t stage = 1; stage <= stages; ++stage)
    for (size_t end = stage; end <= numBlocks; ++end)
      for (size_t begin = stage - 1; begin < end; ++begin) {
        const std::optional<Best> &before = best[stage - 1][begin];
        if (!before || !fits(begin, end, limit))
          continue;
        Cost total = join(before->total, costs[end] - costs[begin]);
        if (std::optional<Best> &known = best[stage][end]; !known || total < known->total)
          known = Best{total, begin};
      }
  if (!best[stages][numBlocks])
    return std::nullopt;
  Result result{best[stages][numBlocks]->total, {}};
  size_t end = numBlocks;
  for (int64_t stage = stages; stage > 0; --stage) {
    end = best[stage][end]->first;
    result.firsts.push_back(end);
  }
  std::reverse(result.firsts.begin(), result.firsts.end());
  return result;
}

std::optional<SmallVector<int64_t>> annotate::cutByCost(ArrayRef<StageBlock> blocks, int64_t stages, int64_t maxBytes) {
  Cutter cutter(blocks, stages, maxBytes);
  Cost none = std::numeric_limits<Cost>::infinity();
  auto largest = cutter.run(none, [](Cost before, Cost stage) { return std::max(before, stage); });
  if (!largest)
    return std::nullopt;
  return cutter.run(largest->total, [](Cost before, Cost stage) { return before + stage * stage; })->firsts;
}
