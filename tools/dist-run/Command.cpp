//===- Command.cpp - what dist-run does -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "CheckExact.h"
#include "CompareProcesses.h"
#include "Instruments.h"
#include "Launch.h"
#include "Options.h"
#include "Run.h"
#include "RunEnd.h"
#include "SelfTest.h"
#include "Show.h"
#include "meshwright/runtime/MappedFiles.h"
#include <csignal>
#include <cstdio>
#include <fmt/core.h>
#include <system_error>

using namespace meshwright::runtime;
using namespace meshwright::tool;

static Status runTool(const Options &options, Instruments &instruments) {
  World &world = instruments.getWorld();
  MW_TRY(compareCommands(options, world));
  if (options.selfTest)
    return runSelfTest(world, options);
  auto package = LoadedPackage::open(options.package);
  MW_TRY(world.agree(package.status()));
  MW_TRY(comparePackages(*package, world));
  MW_TRY(compareFiles(options, world));
  // fmt throws where a write is cut short.
  try {
    if (options.show)
      return world.isFirst() ? show(*package) : Status();
    return options.checkExact ? checkExact(*package, world, options) : run(*package, options, instruments);
  } catch (const std::system_error &) {
    return inputError("cannot write standard output");
  }
}

/// Runs the tool. Only the first process prints a failure that all processes have agreed on.
static Status runOn(Instruments &instruments, const Options &options) {
  World &world = instruments.getWorld();
  Status status = runTool(options, instruments);
  // A line that could not be written has left its mark on the stream.
  if (status.ok() && (std::ferror(stdout) != 0 || std::fflush(stdout) != 0))
    status = inputError("cannot write standard output");
  if (!status.ok() && !world.hasAgreedOnFailure())
    world.abort(status);
  if (!status.ok() && (world.isFirst() || !world.hasAgreedOnFailure()))
    sayFailure(world, status);
  return status;
}

int meshwright::tool::runCommand(int argc, char **argv) {
  // A reader that has gone is an error of writing, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  exitWhereFilesShrink("dist-run");
  auto options = parseOptions(argc, argv);
  Status status = options.status();
  if (options.ok() && (options->help || options->version)) {
    // A text longer than the buffer fails in fputs, after which nothing is left to flush.
    if (std::fputs((options->help ? getHelp() : getVersions()).c_str(), stdout) < 0 || std::fflush(stdout) != 0)
      status = inputError("cannot write standard output");
  } else if (options.ok() && options->nproc != 0) {
    auto code = launch(*options, argc, argv);
    if (code.ok())
      return *code;
    status = code.status();
  } else if (options.ok()) {
    auto world = options->getWorldKind().open({options->tokenFile, [](const std::string &warning) {
                                                 fmt::print(stderr, "dist-run: warning: {}\n", warning);
                                               }});
    if (world.ok()) {
      Instruments instruments(**world, *options);
      return static_cast<int>(runOn(instruments, *options).code());
    }
    status = world.status();
  }
  if (!status.ok())
    fmt::print(stderr, "dist-run: error: {}\n", status.message());
  return static_cast<int>(status.code());
}
