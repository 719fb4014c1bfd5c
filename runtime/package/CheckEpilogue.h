//===- CheckEpilogue.h - what comes behind a product ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_CHECKEPILOGUE_H
#define MESHWRIGHT_RUNTIME_PACKAGE_CHECKEPILOGUE_H

#include "meshwright/runtime/Status.h"
#include "package.pb.h"

namespace meshwright::runtime {

/// Whether a library may compute the epilogue of product `index` of `task`, which is checked apart from it, in the
/// place of the kernel behind: the epilogue reads and writes what that kernel does, in memory that is there and apart.
Status checkEpilogue(const Program &program, const Task &task, int index);

} // namespace meshwright::runtime

#endif
