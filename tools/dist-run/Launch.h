//===- Launch.h - starts the processes of a run -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_LAUNCH_H
#define MESHWRIGHT_TOOLS_DISTRUN_LAUNCH_H

#include "Options.h"

namespace meshwright::tool {

/// Starts the processes of this host, with the same command line but for what is said to the launcher, and waits for
/// them. When one fails the others have some seconds to say why they end, and are killed then; when this process is
/// gone they are told to end. Returns the exit status of the one that failed, because of which the others end, or 4 if
/// a signal ended it.
runtime::Result<int> launch(const Options &options, int argc, char **argv);

} // namespace meshwright::tool

#endif
