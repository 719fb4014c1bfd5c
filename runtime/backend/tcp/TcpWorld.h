//===- TcpWorld.h - processes with connections ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_TCP_TCPWORLD_H
#define MESHWRIGHT_RUNTIME_BACKEND_TCP_TCPWORLD_H

#include "Rendezvous.h"
#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// The processes that meet at a rendezvous.
Result<std::unique_ptr<World>> createTcpWorld(const tcp::Rendezvous &rendezvous);

/// Those of which the environment tells; an error where it does not.
Result<std::unique_ptr<World>> createTcpWorld(const WorldOptions &options);

} // namespace meshwright::runtime

#endif
