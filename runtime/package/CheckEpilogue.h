//===- CheckEpilogue.h - checks the epilogues of GEMMs ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_CHECKEPILOGUE_H
#define MESHWRIGHT_RUNTIME_PACKAGE_CHECKEPILOGUE_H

#include "meshwright/runtime/Status.h"
#include "package.pb.h"

namespace meshwright::runtime {

/// Checks that a library may compute the epilogue of GEMM `index` of `task` in place of the kernel after it: the
/// epilogue reads and writes the buffers of that kernel, inside the arena and without overlap. The GEMM itself has been
/// checked.
Status checkEpilogue(const Program &program, const Task &task, int index);

} // namespace meshwright::runtime

#endif
