//===- Rounding.h - how the twin rounds -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The twin of a program computes in f64 what the program computes in narrower types. It rounds nothing, so that its
// results stand for the exact ones; or it rounds every result that is not exact at random, to one or the other of its
// neighbours in the program's type, so that some runs show how far rounding moves each element. The idea is that of
// J. Vignes, A stochastic arithmetic for reliable scientific computation, 1993, and of D. S. Parker, Monte Carlo
// arithmetic, 1997.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_ROUNDING_H
#define MESHWRIGHT_RUNTIME_ROUNDING_H

#include "meshwright/runtime/DType.h"

namespace meshwright::runtime {

/// A random rounding: other choices for each seed, among the two neighbours of a result or, to see what larger errors
/// do, among so many places below and above it.
struct RandomRounding {
  uint64_t seed;
  unsigned places = 1;
};

/// Lets the twins of all threads round at random or, for nothing, not at all; none of them computes meanwhile.
void chooseRounding(std::optional<RandomRounding> rounding);
const std::optional<RandomRounding> &getRounding();

/// `value` as a result of type `type`: infinite, or NaN in a type without infinities, if it is beyond the range; where
/// the twin rounds, one of the numbers around it. What is exact in the type stays; so does what is so but for the
/// rounding of f64. Equal values are rounded alike. An f64 that is no integer moves by a few units in the last place.
double roundForTwin(DType type, double value);

/// The distance of neighbouring numbers of a float type at `value`.
double getSpacing(DType type, double value);

} // namespace meshwright::runtime

#endif
