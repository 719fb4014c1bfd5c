//===- MpiWorld.h - processes that MPI has started --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MPIWORLD_H
#define MESHWRIGHT_RUNTIME_MPIWORLD_H

#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// The processes that mpirun has started; one that it has not is alone. Errors say why there is no MPI; its library is
/// `Open MPI v4.1.4`.
extern const WorldKind mpiKind;

} // namespace meshwright::runtime

#endif
