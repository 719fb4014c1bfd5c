//===- Cpu.h - ranks that compute on the CPU --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CPU_H
#define MESHWRIGHT_RUNTIME_CPU_H

#include "meshwright/runtime/Platform.h"

namespace meshwright::runtime {

/// The CPU, with the kernels for the target of the options or, where there is none, the first that this CPU can run.
/// Ranks reach each other as their world has it.
extern const DeviceKind cpuKind;

} // namespace meshwright::runtime

#endif
