//===- ReductionArguments.h - what reductions on GPUs take ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_KERNELS_REDUCTIONARGUMENTS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_KERNELS_REDUCTIONARGUMENTS_H

#include <stdint.h>

namespace meshwright::runtime::cuda {

/// The parameter of the kernels, by value: elements [begin, end) of some arrays are reduced into the same places of
/// some others. Kernels take 4 KiB of parameters at most.
struct ReductionArguments {
  static constexpr uint64_t maxAddresses = 480, threads = 256;

  uint64_t begin, end;
  /// The grid's, in blocks of `threads`.
  uint64_t blocks;
  uint64_t numInputs, numOutputs;
  /// The inputs, then the outputs.
  void *addresses[maxAddresses];
};

} // namespace meshwright::runtime::cuda

#endif
