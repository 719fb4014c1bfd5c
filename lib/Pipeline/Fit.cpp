//===- Fit.cpp - searches the least recomputation that fits ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"
#include <algorithm>

using namespace meshwright;

/// A level that is tried where the most does not fit: 1,024 operations per byte, those of wide products.
static constexpr unsigned kHighLevel = 36;
/// Choices whose shares differ by less are the same.
static constexpr double kTolerance = 0.01;

int64_t meshwright::getFlopsPerByte(unsigned level) {
  return level < 4 ? level : int64_t(4 + level % 4) << (level / 4 - 1);
}

namespace {

class Search {
public:
  Search(int64_t limit, unsigned numParts, const std::function<std::optional<FitTrial>(const FitChoice &)> &compile)
      : limit(limit), numParts(numParts), compile(compile) {}

  std::optional<FitResult> run();

private:
  bool fits(const FitChoice &choice);
  FitChoice bisect(unsigned FitChoice::*field, unsigned few, FitChoice choice, double unfitting);
  std::optional<FitChoice> findLevel(unsigned end, double unfitting);

  int64_t limit;
  unsigned numParts;
  const std::function<std::optional<FitTrial>(const FitChoice &)> &compile;
  int64_t least = INT64_MAX;
  /// The share of forward that the last choice recomputes, and the last one that fits.
  double last = 0, fitting = 0;
  bool failed = false;
};

} // namespace

bool Search::fits(const FitChoice &choice) {
  std::optional<FitTrial> trial = failed ? std::nullopt : compile(choice);
  failed = !trial;
  if (failed)
    return false;
  least = std::min(least, trial->peak);
  last = trial->recomputed;
  if (trial->peak > limit)
    return false;
  fitting = last;
  return true;
}

/// Lowers a field of a choice that fits as far as it still does, but not to `few` or less. A choice with less does not
/// fit, and recomputes the share `unfitting`.
FitChoice Search::bisect(unsigned FitChoice::*field, unsigned few, FitChoice choice, double unfitting) {
  while (choice.*field - few > 1 && !failed && fitting - unfitting > kTolerance) {
    FitChoice middle = choice;
    middle.*field = few + (choice.*field - few) / 2;
    if (fits(middle)) {
      choice = middle;
    } else {
      few = middle.*field;
      unfitting = last;
    }
  }
  return choice;
}

/// The lowest level that fits for the values before `end`, if one is found. Without any the share `without` is
/// recomputed.
std::optional<FitChoice> Search::findLevel(unsigned end, double without) {
  // Memory falls with what is spent, but for what is computed too early: the most may not fit where less does.
  for (unsigned level : {kMostFitLevel, kHighLevel})
    if (FitChoice choice = {level, end, end}; fits(choice))
      return bisect(&FitChoice::level, 0, choice, without);
  return std::nullopt;
}

std::optional<FitResult> Search::run() {
  FitChoice none;
  if (fits(none))
    return FitResult{none, least};
  const double without = last;
  std::optional<FitChoice> found;
  for (unsigned quarters = 4; quarters > 0 && !found; --quarters)
    found = findLevel(numParts * quarters / 4, without);
  if (found) {
    found = bisect(&FitChoice::early, 0, *found, without);
    found = bisect(&FitChoice::late, found->early, *found, without);
  }
  if (failed)
    return std::nullopt;
  return FitResult{found, least};
}

std::optional<FitResult> meshwright::findFit(int64_t limit, unsigned numParts,
                                             const std::function<std::optional<FitTrial>(const FitChoice &)> &compile) {
  return Search(limit, numParts, compile).run();
}
