//===- GraphTrials.cpp - dist-opt on damaged graphs and strategies --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <unistd.h>

using namespace meshwright::test;

/// Says why a mutant is wrong.
static Outcome wrong(const std::string &log, const std::string &reason) {
  writeWhole(log + ".reason", reason + "\n");
  return Outcome::Wrong;
}

/// True if no earlier mutant was compiled to the same serial and distributed programs: most accepted mutants differ
/// only in names.
static bool isNew(const std::string &programs, const std::string &text) {
  std::string path = programs + "/" + std::to_string(std::hash<std::string>()(text));
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0)
    close(file);
  return file >= 0;
}

/// Runs a package beside its own serial program.
static Outcome compareWithSerial(const std::string &package, const std::string &folder, const std::string &log) {
  std::string feed = folder + "/feed.safetensors", init = folder + "/init.safetensors";
  if (!writeNumbers(package, feed, init))
    return wrong(log, "the package cannot be read");
  int status = runRuntime(
      {package, "--feed=" + feed, "--init=" + init, "--check-serial", "--steps=2", "--timeout=10", "--quiet"}, log);
  return status == 0 ? Outcome::Accepted : wrong(log, "the run ends with " + std::to_string(status));
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
  return compareWithSerial(package, folder, log);
}

/// Compiles, and compares every program that was not compared before.
static Outcome tryCompiler(const Samples &samples, const std::string &graph, const std::string &strategy,
                           const std::string &folder, const std::string &log) {
  std::string program = folder + "/program.mlir", serial = folder + "/serial.mlir";
  auto compile = [&](std::vector<std::string> options) {
    options.insert(options.end(), {graph, "--strategy=" + strategy, "--quiet"});
    return judge(runCompiler(options, log), log);
  };
  if (Outcome outcome = compile({"-o", program}); outcome != Outcome::Accepted)
    return std::filesystem::exists(program) ? wrong(log, "a program is left") : outcome;
  if (compile({"--to=train", "-o", serial}) != Outcome::Accepted)
    return wrong(log, "the serial program is not accepted");
  if (!isNew(samples.programs, readWhole(serial) + readWhole(program)))
    return Outcome::Accepted;
  return tryPackage(graph, strategy, folder, log);
}

/// A mutant of one of several files, of its bytes or lines.
static std::string mutate(Mutator &mutator, const std::vector<std::string> &files) {
  std::string content = readWhole(files[mutator.draw(files.size())]);
  return mutator.draw(3) == 0 ? mutator.mutateBytes(content) : mutator.mutateLines(content);
}

/// Words of a graph that stand for another in most places.
static const std::vector<std::vector<std::string>> graphWords = {
    {"add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "remainder", "atan2"},
    {"stablehlo.exponential", "stablehlo.log", "stablehlo.negate", "stablehlo.tanh", "stablehlo.logistic",
     "stablehlo.abs", "stablehlo.sine", "stablehlo.sign", "stablehlo.floor", "stablehlo.sqrt", "stablehlo.cbrt",
     "chlo.square", "chlo.erf"},
    {"EQ", "NE", "LT", "LE", "GT", "GE"},
    {"and", "or", "xor"},
    {"dense<0.000000e+00>", "dense<1.000000e+00>", "dense<-2.500000e-01>", "dense<8.000000e+00>", "dense<0xFF800000>"},
    {"dense<0>", "dense<1>", "dense<3>", "dense<-2>"},
    {"low = [0, 1], high = [0, 1]", "low = [0, 0], high = [0, 2]", "low = [0, 3], high = [0, -1]"},
    {"2:8:2", "1:6:2", "5:8", "0:3:1", "0:7:3"}};

/// The same of a strategy.
static const std::vector<std::vector<std::string>> strategyWords = {
    {"stage: 1", "stage: 2", "stage: 3"},
    {"SLICES", "WHOLE"},
    {"size: 1", "size: 2", "size: 3", "size: 4"},
    {"dim: 0", "dim: 1"},
    {"groups: 1", "groups: 2", "groups: 4"},
    {"adam", "adamw", "lamb", "lion", "rmsprop", "adagrad", "adafactor", "muon", "sgd", "momentum"},
    {"beta1: 0.9 beta2: 0.95", "eps: 1e-6", "l2: 0.01", "nesterov: true", ""},
    {"global_norm", "tensor_norm", "value"},
    {"gradient_accumulation { steps: 2", "gradient_accumulation { steps: 1", "gradient_accumulation { slices: 4",
     "gradient_accumulation { reduce: EVERY_STEP steps: 2"},
    {"average: true", "average: false"},
    {"ONE_F_ONE_B", "FILL_DRAIN", "ZB_H1"},
    {"micro_batches: 1", "micro_batches: 2", "micro_batches: 4"},
    {"data { axes: \"dp\" }", "data { axes: \"dp\" axes: \"tp\" }", "data { axes: \"tp\" }", ""},
    {"compute: BF16", "compute: F16", "compute: WRITTEN"}};

std::vector<Strain> meshwright::test::makeGraphStrains(const Samples &samples) {
  auto tryGraph = [&samples](Mutator &mutator, const std::string &folder, const std::string &log) {
    writeWhole(folder + "/mutant.mlir", mutate(mutator, samples.graphs));
    return tryCompiler(samples, folder + "/mutant.mlir", samples.strategies[0], folder, log);
  };
  auto tryStrategy = [&samples](Mutator &mutator, const std::string &folder, const std::string &log) {
    writeWhole(folder + "/mutant.textproto", mutate(mutator, samples.strategies));
    return tryCompiler(samples, samples.graphs[0], folder + "/mutant.textproto", folder, log);
  };
  auto tryOperations = [&samples](Mutator &mutator, const std::string &folder, const std::string &log) {
    // The strategies are for the first graph; the others, which may have some of their names only, take the first.
    size_t graph = mutator.draw(samples.graphs.size());
    size_t strategy = graph == 0 ? mutator.draw(samples.strategies.size()) : 0;
    writeWhole(folder + "/mutant.mlir", mutator.exchangeWords(readWhole(samples.graphs[graph]), graphWords));
    return tryCompiler(samples, folder + "/mutant.mlir", samples.strategies[strategy], folder, log);
  };
  auto tryChoices = [&samples](Mutator &mutator, const std::string &folder, const std::string &log) {
    const std::string &strategy = samples.strategies[mutator.draw(samples.strategies.size())];
    writeWhole(folder + "/mutant.textproto", mutator.exchangeWords(readWhole(strategy), strategyWords));
    return tryCompiler(samples, samples.graphs[0], folder + "/mutant.textproto", folder, log);
  };
  return {{"graph", 3880, tryGraph, 0.05},
          {"strategy", 2400, tryStrategy, 0.05},
          {"operations", 120, tryOperations, 0.5},
          {"choices", 100, tryChoices, 0.5}};
}
