//===- Show.h - what is in a package ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_SHOW_H
#define MESHWRIGHT_TOOLS_DISTRUN_SHOW_H

#include "meshwright/runtime/Package.h"

namespace meshwright::tool {

/// Prints mesh, variables, ports, programs and kernels of a package on standard output.
runtime::Status show(const runtime::LoadedPackage &package);

} // namespace meshwright::tool

#endif
