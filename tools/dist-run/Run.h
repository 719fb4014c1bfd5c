//===- Run.h - runs a package for some steps --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_RUN_H
#define MESHWRIGHT_TOOLS_DISTRUN_RUN_H

#include "Instruments.h"

namespace meshwright::tool {

/// Runs the steps that the options ask for and writes what they ask for; no file appears unless all went well. All
/// processes of the world do the same; the first one writes.
runtime::Status run(const runtime::LoadedPackage &package, const Options &options, Instruments &instruments);

} // namespace meshwright::tool

#endif
