//===- dist-run.cpp - runs a package --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

int main(int argc, char **argv) { return meshwright::tool::runCommand(argc, argv); }
