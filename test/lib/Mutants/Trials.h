//===- Trials.h - the tools on damaged files --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each trial damages one of the files that a tool reads and starts the tool on it, by the function that its `main`
// calls.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_MUTANTS_TRIALS_H
#define MESHWRIGHT_TEST_LIB_MUTANTS_TRIALS_H

#include "Campaign.h"

namespace meshwright::test {

/// The undamaged files.
struct Samples {
  std::vector<std::string> graphs;
  /// Strategies for the first of the graphs.
  std::vector<std::string> strategies;
  /// Made of the first graph and strategy: a package's folder, a file that feeds it, one with its variables, and the
  /// folder of a checkpoint.
  std::string package, feed, init, checkpoint;
  /// A folder with a file for every program that was compared.
  std::string programs;
};

/// Starts `dist-opt` or `dist-run` with these arguments; what it prints goes to `log`. Returns the exit status.
int runCompiler(const std::vector<std::string> &arguments, const std::string &log);
int runRuntime(const std::vector<std::string> &arguments, const std::string &log);

/// Makes the packages and other files that trials damage, from the graph and the strategy that are there. Ends the
/// process where that fails.
void makeSamples(Samples &samples, const std::string &folder);
/// Writes numbers that may be right for anything: for all inputs of a package to `feed`, for the variables that it has
/// no initial values for to `init`.
bool writeNumbers(const std::string &package, const std::string &feed, const std::string &init);

/// Refused is an exit status of 1 with an error on `log`, accepted one of 0; all else is wrong.
Outcome judge(int status, const std::string &log);

std::vector<Strain> makeGraphStrains(const Samples &samples);
std::vector<Strain> makePackageStrains(const Samples &samples);

} // namespace meshwright::test

#endif
