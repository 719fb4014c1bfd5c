//===- Division.h - a kernel's iterations among threads ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_DIVISION_H
#define MESHWRIGHT_CODEGEN_DIVISION_H

#include "meshwright/Kernels/KernelPlan.h"

namespace meshwright::emit {

/// The loop of a kernel that threads of a CPU divide.
struct Division {
  /// The loop's variable in the plan, and the number of its iterations.
  unsigned loop;
  int64_t iterations;
  /// Parts begin at multiples of so many iterations: no two write one line of the cache, and vectors stay whole.
  int64_t grain;
};

/// The outermost loop of which every iteration writes elements of its own, in memory that no other iteration reads: a
/// sum is added up by one thread, in the same order whatever the division. Outer loops with few iterations are passed
/// over for inner ones. Nullopt for kernels without such a loop, as those that add up all elements. `outputs` are the
/// types of the kernel's outputs.
std::optional<Division> chooseDivision(const schedule::KernelPlan &plan,
                                       llvm::ArrayRef<mlir::RankedTensorType> outputs);

} // namespace meshwright::emit

#endif
