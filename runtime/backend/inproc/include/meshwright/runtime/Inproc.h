//===- Inproc.h - ranks as threads of one process ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_INPROC_H
#define MESHWRIGHT_RUNTIME_INPROC_H

#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// Ranks that are threads of this process and read each other's buffers; where a link is given, each collective takes
/// at least the time that it would take there. Who waits for a rank that runs but does not come gives up after so many
/// seconds in which no collective took place.
std::unique_ptr<Backend> createInprocBackend(int64_t numRanks, const std::optional<LinkModel> &link = std::nullopt,
                                             double timeoutSeconds = 600);

/// The world of a process that is alone: ranks are its threads.
std::unique_ptr<World> createLocalWorld();

extern const WorldKind inprocKind;

} // namespace meshwright::runtime

#endif
