//===- dist-run.cpp - runs a package --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Run.h"
#include "SelfTest.h"
#include "Show.h"
#include <csignal>
#include <cstdio>
#include <fmt/core.h>
#include <system_error>

using namespace meshwright::runtime;
using namespace meshwright::tool;

static Status runTool(const Options &options) {
  if (options.selfTest)
    return runSelfTest(*createLocalWorld(), options);
  MW_TRY_ASSIGN(LoadedPackage package, LoadedPackage::open(options.package));
  // fmt throws where a write is cut short.
  try {
    return options.show ? show(package) : run(package, options);
  } catch (const std::system_error &) {
    return inputError("cannot write standard output");
  }
}

int main(int argc, char **argv) {
  // A reader that has gone is an error of writing, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  auto options = parseOptions(argc, argv);
  Status status = options.status();
  if (options.ok()) {
    if (options->help || options->version)
      std::fputs((options->help ? getHelp() : getVersions()).c_str(), stdout);
    else
      status = runTool(*options);
  }
  if (status.ok() && std::fflush(stdout) != 0)
    status = inputError("cannot write standard output");
  if (!status.ok())
    fmt::print(stderr, "dist-run: error: {}\n", status.message());
  return static_cast<int>(status.code());
}
