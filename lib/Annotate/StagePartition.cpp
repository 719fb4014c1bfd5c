//===- StagePartition.cpp - dynamic programming over blocks ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two runs of one dynamic program over (stage, end of its blocks): the first minimizes the largest cost of a stage, the
// second, limited to that cost, the sum of squares, which evens out the other stages too.
//
//===----------------------------------------------------------------------===//

#include "StagePartition.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
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

/// Wide enough for sums of squares of costs.
using Cost = long double;

/// Finds the stages with the least total cost; `join` adds the cost of a stage to the total of earlier ones.
class Cutter {
public:
  Cutter(ArrayRef<annotate::StageBlock> blocks, int64_t stages, const annotate::StageBytes &held)
      : stages(stages), held(held), costs{0}, bytes{0}, inFlightBytes{0} {
    for (annotate::StageBlock block : blocks) {
      costs.push_back(costs.back() + static_cast<Cost>(block.cost));
      bytes.push_back(bytes.back() + static_cast<Cost>(block.bytes));
      inFlightBytes.push_back(inFlightBytes.back() + static_cast<Cost>(block.inFlightBytes));
    }
  }

  /// The bytes that `stage` holds with the blocks [begin, end).
  Cost getBytes(size_t stage, size_t begin, size_t end) const {
    Cost inFlight = held.inFlight.empty() ? Cost(0) : static_cast<Cost>(held.inFlight[stage]);
    return bytes[end] - bytes[begin] + inFlight * (inFlightBytes[end] - inFlightBytes[begin]);
  }

  struct Result {
    Cost total;
    SmallVector<int64_t> firsts;
  };
  /// Limits the cost of every stage to `limit`.
  std::optional<Result> run(Cost limit, llvm::function_ref<Cost(Cost, Cost)> join) const;

private:
  bool fits(size_t stage, size_t begin, size_t end, Cost limit) const {
    return costs[end] - costs[begin] <= limit && getBytes(stage, begin, end) <= static_cast<Cost>(held.bound);
  }

  int64_t stages;
  annotate::StageBytes held;
  /// Prefix sums over the blocks.
  SmallVector<Cost> costs, bytes, inFlightBytes;
};

} // namespace

std::optional<Cutter::Result> Cutter::run(Cost limit, llvm::function_ref<Cost(Cost, Cost)> join) const {
  size_t numBlocks = costs.size() - 1;
  struct Best {
    Cost total;
    size_t first;
  };
  // Indexed by the number of stages and the number of blocks in them.
  std::vector<std::vector<std::optional<Best>>> best(stages + 1, std::vector<std::optional<Best>>(numBlocks + 1));
  best[0][0] = Best{0, 0};
  for (int64_t stage = 1; stage <= stages; ++stage)
    for (size_t end = stage; end <= numBlocks; ++end)
      for (size_t begin = stage - 1; begin < end; ++begin) {
        const std::optional<Best> &before = best[stage - 1][begin];
        if (!before || !fits(stage - 1, begin, end, limit))
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

int64_t annotate::getLargestStage(ArrayRef<StageBlock> blocks, ArrayRef<int64_t> firsts, ArrayRef<double> inFlight) {
  Cutter cutter(blocks, static_cast<int64_t>(firsts.size()), {inFlight, INT64_MAX});
  Cost largest = 0;
  for (auto [stage, first] : llvm::enumerate(firsts))
    largest =
        std::max(largest, cutter.getBytes(stage, first, stage + 1 < firsts.size() ? firsts[stage + 1] : blocks.size()));
  return static_cast<int64_t>(std::ceil(largest));
}

std::optional<SmallVector<int64_t>> annotate::cutByCost(ArrayRef<StageBlock> blocks, int64_t stages,
                                                        const StageBytes &held) {
  Cutter cutter(blocks, stages, held);
  Cost none = std::numeric_limits<Cost>::infinity();
  auto largest = cutter.run(none, [](Cost before, Cost stage) { return std::max(before, stage); });
  if (!largest)
    return std::nullopt;
  return cutter.run(largest->total, [](Cost before, Cost stage) { return before + stage * stage; })->firsts;
}
