//===- Allocations.h - how often memory is asked for ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_ALLOCATIONS_H
#define MESHWRIGHT_TOOLS_DISTRUN_ALLOCATIONS_H

#include <cstdint>

namespace meshwright::tool {

/// The number of allocations that the calling thread has made by operator new, libraries' included. 0 in a build with
/// sanitizers.
uint64_t countAllocations();

} // namespace meshwright::tool

#endif
