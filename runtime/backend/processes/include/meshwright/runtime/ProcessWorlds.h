//===- ProcessWorlds.h - ranks as processes ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PROCESSWORLDS_H
#define MESHWRIGHT_RUNTIME_PROCESSWORLDS_H

#include "meshwright/runtime/Sha256.h"
#include "meshwright/runtime/Sockets.h"
#include "meshwright/runtime/Transport.h"
#include "meshwright/runtime/World.h"

namespace meshwright::runtime::processes {

/// The world of processes between which `transport` carries messages. `sockets` are those of the lifeline, by which
/// they notice each other's end: on the first process one for every other, at its number; on the others one to the
/// first. `key` is that of the run, if it has one of its own.
Result<std::unique_ptr<World>> createProcessWorld(std::unique_ptr<Transport> transport, std::vector<Socket> sockets,
                                                  std::optional<Digest> key = {});

} // namespace meshwright::runtime::processes

#endif
