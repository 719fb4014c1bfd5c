//===- Fit.h - searches the least recomputation that fits --------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out: the memory of a choice is known only after it has been compiled.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_FIT_H
#define MESHWRIGHT_LIB_PIPELINE_FIT_H

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

/// A way to divide blocks: of the first so many nothing is kept, of the others what is cheap to keep; or no block is
/// treated, and all keep what cheap operations do not lead to.
struct FitChoice {
  bool treated = false;
  unsigned numWhole = 0;
  bool operator==(const FitChoice &) const = default;
};

/// Looks for the choice that computes least and fits. Choices are tried in a fixed order: nothing treated, all blocks
/// cheaply, all whole; then the least number of whole blocks by halving.
class FitSearch {
public:
  explicit FitSearch(int64_t limit) : limit(limit) {}
  /// Says how many blocks there are, before the first report.
  void setBlocks(unsigned number) { numBlocks = many = number; }

  /// The choice to compile next, or the final one once `isOver`.
  FitChoice getChoice() const { return choice; }
  /// Takes the peak in bytes of the choice. What is known is not asked for again.
  void report(int64_t peak);
  bool isOver() const { return over; }
  /// True if the choice fits; valid once the search is over.
  bool fits() const { return least <= limit; }
  /// The least peak of all that were tried.
  int64_t getLeast() const { return least; }
  unsigned getNumTried() const { return numTried; }

private:
  void stop(FitChoice last);

  int64_t limit;
  unsigned numBlocks = 0;
  FitChoice choice;
  bool over = false;
  int64_t least = INT64_MAX;
  unsigned numTried = 0;
  /// So few whole blocks do not fit, so many do.
  unsigned few = 0, many = 0;
};

/// The gain of recomputing a block: the bytes that it keeps, and the FLOPs of its forward.
struct FitBlock {
  std::string name;
  int64_t bytes = 0;
  double flops = 0;
};

/// Sorts by what is gained per operation, the most first; equals stay in order.
void sortByGain(std::vector<FitBlock> &blocks);

} // namespace meshwright

#endif
