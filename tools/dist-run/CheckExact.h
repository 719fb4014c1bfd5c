//===- CheckExact.h - dist-run --check-exact --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_CHECKEXACT_H
#define MESHWRIGHT_TOOLS_DISTRUN_CHECKEXACT_H

#include "Options.h"
#include "meshwright/runtime/World.h"

namespace meshwright::tool {

/// Compares the distributed programs with the serial one in exact arithmetic, step by step, until a step differs.
runtime::Status checkExact(const runtime::LoadedPackage &package, runtime::World &world, const Options &options);

} // namespace meshwright::tool

#endif
