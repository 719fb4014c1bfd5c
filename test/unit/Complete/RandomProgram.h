//===- RandomProgram.h - small random networks ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_COMPLETE_RANDOMPROGRAM_H
#define MESHWRIGHT_TEST_UNIT_COMPLETE_RANDOMPROGRAM_H

#include "test/unit/Random.h"

namespace meshwright::test {

/// The parameters of a random program.
struct ProgramOptions {
  /// The mesh, as its text: `"tp" = 2`. Inputs and weights are split over axes of these names, by chance.
  std::string mesh = "\"tp\" = 2";
  std::vector<std::string> axes{"tp"};
  /// Number of operations besides reads of weights.
  int64_t numOps = 4;
};

/// The text of a module with one function: elementwise operations, products with weights and between activations,
/// reductions, broadcasts, transposes and reshapes on tiny shapes. All unused values are returned.
std::string makeProgram(Random &random, const ProgramOptions &options);

/// A chain of `blocks` column- and row-parallel products with a residual, which is what a network mostly is.
std::string makeChain(int64_t blocks);

} // namespace meshwright::test

#endif
