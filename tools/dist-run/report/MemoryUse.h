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

/// The contents of a program's device arena. The busiest moment is the instruction at which most bytes are alive. A
/// buffer is alive from the first to the last instruction of a task that names it, and while in flight until its Wait;
/// values that one action leaves to another are alive all the time.
MemoryUse getMemoryUse(const meshwright::Package &package, const meshwright::Program &program);

} // namespace meshwright::tool

#endif
