//===- GraphTrials.cpp - dist-opt on damaged graphs and strategies --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include <filesystem>
#include <iostream>

using namespace meshwright::test;

/// Of the mutants that compile one in so many becomes a package, which takes ten times as long, and is run beside its
/// own serial program.
static constexpr size_t packagesOneIn = 8;

/// Says why a mutant is wrong.
static Outcome wrong(const std::string &log, const std::string &reason) {
  writeWhole(log + ".reason", reason + "\n");
  return Outcome::Wrong;
}

/// Compiles to a package, which is there as a whole or not at all, and compares its ranks with its serial program.
static Outcome tryPackage(const std::string &graph, const std::string &strategy, const std::string &folder,
                          const std::string &log) {
  std::string package = folder + "/package";
  Outcome outcome = judge(runCompiler({graph, "--strategy=" + strategy, "--emit=" + package, "--quiet"}, log), log);
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".tmp"))
      return wrong(log, entry.path().string() + " is left");
  if (outcome != Outcome::Accepted)
    return std::filesystem::exists(package) ? wrong(log, "a package is left") : outcome;
  std::string feed = folder + "/feed.safetensors";
  if (!writeFeed(package, feed))
    return wrong(log, "the package cannot be read");
  int status = runRuntime({package, "--feed=" + feed, "--check-serial", "--steps=1", "--timeout=10", "--quiet"}, log);
  return status == 0 || status == 1 ? Outcome::Accepted : wrong(log, "the run ends with " + std::to_string(status));
}

static Outcome tryCompiler(Mutator &mutator, const std::string &graph, const std::string &strategy,
                           const std::string &folder, const std::string &log) {
  Outcome outcome = judge(runCompiler({graph, "--strategy=" + strategy, "-o", "/dev/null", "--quiet"}, log), log);
  if (outcome == Outcome::Accepted && mutator.draw(packagesOneIn) == 0)
    return tryPackage(graph, strategy, folder, log);
  return outcome;
}

/// A mutant of one of several files, of its bytes or lines.
static std::string mutate(Mutator &mutator, const std::vector<std::string> &files) {
  std::string content = readWhole(files[mutator.draw(files.size())]);
  return mutator.draw(3) == 0 ? mutator.mutateBytes(content) : mutator.mutateLines(content);
}

std::vector<Strain> meshwright::test::makeGraphStrains(const Samples &samples) {
  auto tryGraph = [&samples](Mutator &mutator, const std::string &folder, const std::string &log) {
    writeWhole(folder + "/mutant.mlir", mutate(mutator, samples.graphs));
    return tryCompiler(mutator, folder + "/mutant.mlir", samples.strategies[0], folder, log);
  };
  auto tryStrategy = [&samples](Mutator &mutator, const std::string &folder, const std::string &log) {
    writeWhole(folder + "/mutant.textproto", mutate(mutator, samples.strategies));
    return tryCompiler(mutator, samples.graphs[0], folder + "/mutant.textproto", folder, log);
  };
  return {{"graph", 4000, tryGraph}, {"strategy", 2500, tryStrategy}};
}
