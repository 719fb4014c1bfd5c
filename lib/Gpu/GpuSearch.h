//===- GpuSearch.h - searches for the best element on a GPU -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_GPU_GPUSEARCH_H
#define MESHWRIGHT_LIB_GPU_GPUSEARCH_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Gpu/GpuMachine.h"
#include "meshwright/Gpu/GpuPlan.h"

namespace meshwright::emit {

/// The best element along a dimension, and its index: a block for each, whose threads search a part each and then agree
/// in pairs. Among equals the lowest index wins, so the order does not matter.
class GpuSearch {
public:
  /// Null where `kernel` is not a single search through an input.
  static std::optional<GpuSearch> match(dist::KernelOp kernel);

  std::vector<GpuLaunchPlan> planLaunches();
  /// Writes the function; `pointers` are the addresses of inputs, then outputs.
  void emit(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, mlir::ValueRange pointers);

private:
  friend class SearchWriter;
  dist::KernelOp kernel;
  net::ArgReduceOp search;
  /// The number of elements along the dimension, and how far they lie apart.
  int64_t size = 1, stride = 1;
};

} // namespace meshwright::emit

#endif
