//===- ExpandLoops.h - programs without loops -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_EXPANDLOOPS_H
#define MESHWRIGHT_RUNTIME_PACKAGE_EXPANDLOOPS_H

#include "meshwright/runtime/Status.h"
#include "package.pb.h"

namespace meshwright::runtime {

/// Writes the loops of all programs out: every trip becomes instructions of its own, named like those of the body with
/// the number of the trip behind, `h.attn [3]`. What moves with the trips becomes one buffer for each place, and
/// collectives get tags that are the same on all ranks. So everything behind, checks among it, sees what is done and
/// knows nothing of loops. Nothing of the package has been checked. Loops that do not match, buffers that move with
/// more loops than there are, and programs that become larger than can be held are errors.
Status expandLoops(meshwright::Package &package);

} // namespace meshwright::runtime

#endif
