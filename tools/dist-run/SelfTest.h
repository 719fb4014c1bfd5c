//===- SelfTest.h - dist-run --self-test ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_SELFTEST_H
#define MESHWRIGHT_TOOLS_DISTRUN_SELFTEST_H

#include "Options.h"
#include "meshwright/runtime/World.h"

namespace meshwright::tool {

/// Checks and times the collectives between the ranks of this machine. What is wrong is a failed check.
runtime::Status runSelfTest(runtime::World &world, const Options &options);

} // namespace meshwright::tool

#endif
