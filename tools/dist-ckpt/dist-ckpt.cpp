//===- dist-ckpt.cpp - works on checkpoints -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "meshwright/runtime/MappedFiles.h"
#include <csignal>
#include <cstdio>
#include <system_error>

using namespace meshwright::runtime;
using namespace meshwright::tool;

int main(int argc, char **argv) {
  // A reader that has gone is an error of writing, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  exitWhereFilesShrink("dist-ckpt");
  auto options = parseOptions(argc, argv);
  Status status = options.status();
  // fmt throws where a write is cut short.
  try {
    if (options.ok() && (options->help || options->version))
      fmt::print("{}", options->help ? getHelp() : "dist-ckpt " MESHWRIGHT_VERSION "\n");
    else if (options.ok())
      status = runCommand(*options);
  } catch (const std::system_error &) {
    status = inputError("cannot write standard output");
  }
  if (status.ok() && std::fflush(stdout) != 0)
    status = inputError("cannot write standard output");
  if (!status.ok())
    fmt::print(stderr, "dist-ckpt: error: {}\n", status.message());
  return static_cast<int>(status.code());
}
