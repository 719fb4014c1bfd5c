//===- CpuRates.h - the best rates of a rank's threads ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_CPURATES_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_CPURATES_H

#include "meshwright/runtime/Device.h"

namespace meshwright::runtime {

/// Measures, on the calling thread's `threads`, a copy of large arrays and a large product of each type.
Result<DeviceRates> measureCpuRates(int threads, std::span<const DType> types);

} // namespace meshwright::runtime

#endif
