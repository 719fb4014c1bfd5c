//===- Fit.cpp - searches the least recomputation that fits ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"
#include <algorithm>

using namespace meshwright;

void FitSearch::stop(FitChoice last) {
  choice = last;
  over = true;
}

void FitSearch::report(int64_t peak) {
  ++numTried;
  least = std::min(least, peak);
  bool fit = peak <= limit;
  if (!choice.treated) {
    if (fit)
      return stop(choice);
    choice = {true, 0};
    return;
  }
  if (choice.numWhole == 0 && few == 0 && many == numBlocks) {
    if (fit || numBlocks == 0)
      return stop(choice);
    choice.numWhole = numBlocks;
    return;
  }
  if (!fit && choice.numWhole == numBlocks)
    return stop(choice);
  (fit ? many : few) = choice.numWhole;
  if (many - few <= 1)
    return stop({true, many});
  choice.numWhole = few + (many - few) / 2;
}

void meshwright::sortByGain(std::vector<FitBlock> &blocks) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const FitBlock &left, const FitBlock &right) {
    return static_cast<double>(left.bytes) * std::max(right.flops, 1.0) >
           static_cast<double>(right.bytes) * std::max(left.flops, 1.0);
  });
}
