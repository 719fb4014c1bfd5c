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

/// Unrolls the loops of all programs: every iteration becomes instructions of its own, named like those of the body
/// with the number of the iteration appended, `h.attn [3]`. A buffer that moves with the iterations becomes one buffer
/// for each place, and collectives get tags that are the same on all ranks. All later code, checks included, therefore
/// sees straight programs; `Task::loops` says where the iterations stand. Nothing of the package has been checked.
/// Loops that do not match, buffers that move with more loops than there are, and programs that become larger than can
/// be held are errors.
Status expandLoops(meshwright::Package &package);

} // namespace meshwright::runtime

#endif
