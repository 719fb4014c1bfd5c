//===- MpiWorld.h - processes that MPI has started --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_MPI_MPIWORLD_H
#define MESHWRIGHT_RUNTIME_BACKEND_MPI_MPIWORLD_H

#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// The processes that mpirun has started; one that it has not is alone. Made once in a process. Errors say why there is
/// no MPI.
Result<std::unique_ptr<World>> createMpiWorld();

/// The version of the MPI that is there: `Open MPI v4.1.4`; or why there is none.
Result<std::string> getMpiVersion();

} // namespace meshwright::runtime

#endif
