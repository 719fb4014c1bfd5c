//===- Options.cpp - the command line of dist-schedule --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>

using namespace meshwright;
using namespace meshwright::tool;
using llvm::StringRef;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Four numbers, of which the last may be missing.
static bool parseTimes(StringRef text, schedule::TaskTimes &times) {
  llvm::SmallVector<StringRef, 4> parts;
  text.split(parts, ',');
  double *numbers[] = {&times.forward, &times.inputGradient, &times.weightGradient, &times.send};
  if (parts.size() != 3 && parts.size() != 4)
    return false;
  for (auto [index, part] : llvm::enumerate(parts))
    // Sends may take no time; tasks take some.
    if (part.getAsDouble(*numbers[index]) || !std::isfinite(*numbers[index]) || *numbers[index] < 0 ||
        (index < 3 && *numbers[index] == 0))
      return false;
  return true;
}

static llvm::Error store(ScheduleOptions &options, StringRef name, StringRef value) {
  int64_t *number = name == "ranks"           ? &options.shape.ranks
                    : name == "micro-batches" ? &options.shape.microBatches
                    : name == "chunks"        ? &options.shape.chunks
                    : name == "group"         ? &options.shape.group
                                              : nullptr;
  if (number)
    return value.getAsInteger(10, *number) ? fail("--" + name + ": \"" + value + "\" is no whole number")
                                           : llvm::Error::success();
  if (name == "times")
    return parseTimes(value, options.times)
               ? llvm::Error::success()
               : fail("--times: \"" + value + "\" is not F,I,W or F,I,W,SEND, positive but for the last");
  if (name != "csv")
    return fail("there is no option --" + name + "; dist-schedule --help lists them");
  options.csv = value.str();
  return value.empty() ? fail("--csv wants =FILE") : llvm::Error::success();
}

llvm::Expected<ScheduleOptions> tool::parseOptions(int argc, const char *const *argv) {
  ScheduleOptions options;
  for (int index = 1; index < argc; ++index) {
    StringRef argument = argv[index];
    if (argument == "--help" || argument == "-h" || argument == "--version") {
      (argument == "--version" ? options.version : options.help) = true;
      return options;
    }
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.input.empty())
        return fail("there are two inputs, " + options.input + " and " + argument);
      options.input = argument.str();
      continue;
    }
    auto [name, value] = argument.ltrim('-').split('=');
    if (!argument.contains('='))
      return fail("option " + argument + " wants a value, as in " + argument + "=4");
    if (llvm::Error error = store(options, name, value))
      return std::move(error);
  }
  if (options.input.empty())
    return fail("there is no input; dist-schedule --help says what may be one");
  return options;
}

std::string tool::getHelp() {
  std::string help = R"(usage: dist-schedule ORDER|FILE [options]

Draws in which order the stages of a pipeline work, and says how long ranks wait and how much they keep. ORDER is one of
)";
  for (schedule::OrderKind kind : schedule::getOrderKinds())
    help += "  " + schedule::getName(kind).str() +
            (schedule::getAlias(kind).empty() ? "" : " (" + schedule::getAlias(kind).str() + ")") + "\n";
  return help + R"(
FILE (- for standard input) is the CSV of PyTorch's pipelining: a line per rank, a cell per task: 0F3 is stage 0, forward,
micro-batch 3; B is a backward, I and W are its halves. It is checked: every task once, no tasks that wait for each other.

Options:
  --ranks=N                  ranks of an ORDER (4)
  --micro-batches=N          its micro-batches (8)
  --chunks=N                 its stages per rank (1)
  --group=N                  micro-batches that pass a chunk before the next (interleaved; as many as ranks)
  --times=F,I,W[,SEND]       how long forward, input gradient and weight gradient take, and sending (1,1,1,0)
  --csv=FILE                 write the order there; - is standard output, in the place of the drawing
  --help                     this text
  --version                  the version

In the drawing a letter is the kind of a task and a digit the last one of its micro-batch; small letters are later stages of
the same rank.

Exit status: 0 done; 1 the input is at fault; 2 wrong usage.
)";
}
