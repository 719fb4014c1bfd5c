//===- TcpWorld.h - processes with connections ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_TCPWORLD_H
#define MESHWRIGHT_RUNTIME_TCPWORLD_H

#include "meshwright/runtime/Rendezvous.h"
#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// The processes that meet at a rendezvous.
Result<std::unique_ptr<World>> createTcpWorld(const processes::Rendezvous &rendezvous);

/// Processes of which the environment tells; opening it fails where the environment does not.
extern const WorldKind tcpKind;

} // namespace meshwright::runtime

#endif
