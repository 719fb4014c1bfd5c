//===- Targets.h - GPUs among the targets -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_GPU_TARGETS_H
#define MESHWRIGHT_GPU_TARGETS_H

#include "llvm/ADT/StringRef.h"

namespace meshwright::emit {

/// True if `target` is a GPU. There, kernels also compute what CPU targets leave to a library, except GEMMs.
bool isGpuTarget(llvm::StringRef target);
/// True if `target` is a GPU whose tensor cores can compute kernels of scores: sm_80 or later, or the emulated one.
bool computesScores(llvm::StringRef target);

} // namespace meshwright::emit

#endif
