//===- Fit.h - searches the least recomputation that fits --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out: the memory of a choice is known only after it has been compiled.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_FIT_H
#define MESHWRIGHT_LIB_PIPELINE_FIT_H

#include <cstdint>
#include <functional>
#include <optional>

namespace meshwright {

/// The operations that backward may spend on a byte that is not kept: for values of forward before `early` so many as
/// `level` says, before `late` those of the level below, and for all others none. Positions count parts of forward,
/// of which there are `complete::kForwardParts`.
struct FitChoice {
  unsigned level = 0, early = 0, late = 0;
  bool operator==(const FitChoice &) const = default;
};

/// The largest level: 2^25 operations per byte, more than those of any network.
constexpr unsigned kMostFitLevel = 96;

/// The operations per byte of a level: the numbers with at most three significant bits, so that one is at most a
/// quarter more than the one before from 4 on. Level 0 is 0.
int64_t getFlopsPerByte(unsigned level);

/// A choice that was compiled.
struct FitTrial {
  /// The largest arena of a rank in bytes.
  int64_t peak = 0;
  /// The operations that are recomputed, as a share of those of forward.
  double recomputed = 0;
};

struct FitResult {
  /// The choice that fits, if one does.
  std::optional<FitChoice> choice;
  /// The least peak of all that were tried.
  int64_t least = 0;
};

/// Looks for the choice that spends least among those whose peak is at most `limit`: the lowest level that fits for all
/// of forward, which has `numParts` parts, or for its first quarters if none does; then the shortest beginning that
/// needs it, if the rest has the level below; then the shortest that needs that. Values of the beginning are kept
/// longest, and those of the end are needed at once. Each is found by bisection, as if memory fell with what is spent,
/// until choices differ by less than 1 % of forward. `compile` tries a choice, and fails with nothing, which ends the
/// search with nothing.
std::optional<FitResult> findFit(int64_t limit, unsigned numParts,
                                 const std::function<std::optional<FitTrial>(const FitChoice &)> &compile);

} // namespace meshwright

#endif
