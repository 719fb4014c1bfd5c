//===- dist-verify.cpp - proves properties of packages --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a package, which the library proves, or two graphs, which other tools compare (Comparison.h).
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"
#include "meshwright/verify/Verify.h"
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <system_error>

using namespace meshwright;

static const char *const help = R"(usage: dist-verify PACKAGE [options]
       dist-verify SERIAL PARTITIONED [options]

Proves properties of a package folder without running it, by code that shares nothing but the schema with the compiler
and the runtime: every byte that is read was written before, nothing touches what is in flight, all ranks issue the same
collectives in their groups and come to the end of the step. Prints what is proved, what is refused and where, and the
peak of memory of every program.

With two graphs of StableHLO, compares a program for one rank that another tool made with the serial program, on all
ranks and in exact arithmetic: dist-opt compiles both, and dist-run evaluates them. Names the values that differ, their
ranks and the collectives before them. docs/reference/verify.md has both.

Options for a package:
  --json                one JSON object instead of text
  --max-findings=N      list N findings at most and count the others (50)
Options for two graphs:
  --mesh=AXIS=N,...     the mesh of the partitioned program, the slowest axis first; default: the mesh that it names
  --place=NAME=DIMS     the placement of its argument or result NAME, as w=[-,tp]; default: its own sharding; repeatable
  --steps=N             evaluate at this many random points (2)
  --seed=N              the seed of these points (0)
  --feed=FILE           values of arguments, as dist-run takes them, instead of random ones
  --data=NAME=FILE...   the same, cut from a file
Options for both:
  --quiet               print findings only
  --help                this text
  --version             the version

Exit status: 0 all is proved, or equal; 1 there are findings, or an input cannot be read; 2 wrong usage.
)";

namespace {

struct CommandLine {
  std::string folder;
  verify::Options options;
  tool::Comparison comparison;
  /// An option that is of packages alone, and one that is of graphs alone; empty if there is none.
  std::string ofPackages, ofGraphs;
  bool json = false, quiet = false, help = false, version = false;
};

} // namespace

/// Takes `--NAME=VALUE` or `--NAME VALUE` of an option for two graphs; false if the argument is no such option.
static bool takeGraphOption(int argc, char **argv, int &i, CommandLine &line) {
  std::string argument = argv[i];
  for (const char *name : {"--mesh", "--place", "--steps", "--seed", "--feed", "--data"}) {
    std::string prefix = std::string(name) + "=";
    bool isApart = argument == name && i + 1 != argc;
    if (!argument.starts_with(prefix) && !isApart)
      continue;
    std::string value = isApart ? argv[++i] : argument.substr(prefix.size());
    line.ofGraphs = name;
    line.comparison.set(name, value);
    return true;
  }
  return false;
}

/// Returns an error, or an empty text.
static std::string parse(int argc, char **argv, CommandLine &line) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], prefix = "--max-findings=";
    if (takeGraphOption(argc, argv, i, line))
      continue;
    if (argument == "--json" || argument.starts_with(prefix))
      line.ofPackages = argument;
    if (argument == "--json")
      line.json = true;
    else if (argument == "--quiet")
      line.quiet = true;
    else if (argument == "--help" || argument == "-h")
      line.help = true;
    else if (argument == "--version")
      line.version = true;
    else if (argument.starts_with(prefix)) {
      const char *begin = argument.data() + prefix.size(), *end = argument.data() + argument.size();
      auto [parsed, error] = std::from_chars(begin, end, line.options.maxFindings);
      if (error != std::errc() || parsed != end)
        return fmt::format("--max-findings: \"{}\" is no whole number", begin);
    } else if (argument.starts_with("-"))
      return fmt::format("there is no option {} (dist-verify --help lists them)", argument);
    else if (line.folder.empty())
      line.folder = argument;
    else if (line.comparison.partitioned.empty())
      line.comparison.partitioned = argument;
    else
      return fmt::format("a package or two graphs are wanted, and {} is given, too", argument);
  }
  if (line.help || line.version)
    return "";
  if (line.folder.empty())
    return "a package or two graphs are wanted (dist-verify --help says more)";
  if (!line.comparison.partitioned.empty() && !line.ofPackages.empty())
    return fmt::format("{} is for packages, and two graphs are given", line.ofPackages);
  if (line.comparison.partitioned.empty() && !line.ofGraphs.empty())
    return fmt::format("{} is for two graphs, and a package is given", line.ofGraphs);
  line.comparison.serial = line.folder;
  line.comparison.quiet = line.quiet;
  return "";
}

/// Prints the report; the exit status.
static int run(const CommandLine &line) {
  Package package;
  uint64_t constantsBytes = 0;
  if (std::string error = verify::readPackage(line.folder, package, constantsBytes); !error.empty()) {
    fmt::print(stderr, "dist-verify: error: {}\n", error);
    return 1;
  }
  verify::Report report = verify::verifyPackage(package, constantsBytes, line.options);
  if (!line.quiet || !report.ok())
    fmt::print("{}", line.json ? verify::formatJson(report, line.folder) : verify::formatText(report));
  return report.ok() ? 0 : 1;
}

int main(int argc, char **argv) {
  // A reader that has gone is an error of writing, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  CommandLine line;
  if (std::string error = parse(argc, argv, line); !error.empty()) {
    fmt::print(stderr, "dist-verify: error: {}\n", error);
    return 2;
  }
  int status = 0;
  // fmt throws where a write is cut short.
  try {
    if (line.help || line.version)
      fmt::print("{}", line.help ? help : "dist-verify " MESHWRIGHT_VERSION "\n");
    else if (line.comparison.partitioned.empty())
      status = run(line);
    else
      status = tool::compare(line.comparison);
  } catch (const std::system_error &) {
    status = 1;
  }
  if (std::fflush(stdout) != 0)
    status = 1;
  if (status == 1 && std::ferror(stdout))
    fmt::print(stderr, "dist-verify: error: cannot write standard output\n");
  return status;
}
