//===- MemoryUse.h - what a rank's memory holds -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_MEMORYUSE_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_MEMORYUSE_H

#include "meshwright/runtime/Package.h"
#include <array>

namespace meshwright::tool {

/// Classes of what an arena holds: those that stay, then those of the busiest moment of a step, then what is free then.
enum class MemoryClass { Parameters, State, Buffers, Constants, Gradients, Fetched, Activations, Free };
inline constexpr size_t kNumMemoryClasses = 8;

/// The name of a class: `optimizer state`.
std::string_view getName(MemoryClass kind);

/// Bytes by class; together they are the arena.
using MemoryUse = std::array<uint64_t, kNumMemoryClasses>;

/// What the arena of a program holds, that of the device. The busiest moment is the instruction at which most bytes are
/// alive: from the first to the last instruction of a task that names their buffer, and until it is waited for where it
/// is in flight; what works leave to each other all the time.
MemoryUse getMemoryUse(const meshwright::Package &package, const meshwright::Program &program);

} // namespace meshwright::tool

#endif
