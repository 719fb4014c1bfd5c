//===- dist-verify.cpp - proves properties of packages --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/verify/Verify.h"
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <system_error>

using namespace meshwright;

static const char *const help = R"(usage: dist-verify PACKAGE [options]

Proves properties of a package folder without running it, by code that shares nothing but the schema with the compiler
and the runtime: every byte that is read was written before, nothing touches what is in flight, all ranks issue the same
collectives in their groups and come to the end of the step. Prints what is proved, what is refused and where, and the
peak of memory of every program. docs/reference/verify.md defines the properties.

Options:
  --json                one JSON object instead of text
  --max-findings=N      list N findings at most and count the others (50)
  --quiet               print findings only
  --help                this text
  --version             the version

Exit status: 0 all is proved; 1 there are findings, or the package cannot be read; 2 wrong usage.
)";

namespace {

struct CommandLine {
  std::string folder;
  verify::Options options;
  bool json = false, quiet = false, help = false, version = false;
};

} // namespace

/// Returns an error, or an empty text.
static std::string parse(int argc, char **argv, CommandLine &line) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], prefix = "--max-findings=";
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
    else if (!line.folder.empty())
      return fmt::format("one package is wanted, and both {} and {} are given", line.folder, argument);
    else
      line.folder = argument;
  }
  if (line.folder.empty() && !line.help && !line.version)
    return "a package is wanted (dist-verify --help says more)";
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
    else
      status = run(line);
  } catch (const std::system_error &) {
    status = 1;
  }
  if (std::fflush(stdout) != 0)
    status = 1;
  if (status == 1 && std::ferror(stdout))
    fmt::print(stderr, "dist-verify: error: cannot write standard output\n");
  return status;
}
