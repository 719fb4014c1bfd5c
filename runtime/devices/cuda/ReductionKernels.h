//===- ReductionKernels.h - sums over arrays of a GPU -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_REDUCTIONKERNELS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_REDUCTIONKERNELS_H

#include "CudaApi.h"
#include "meshwright/runtime/Communicator.h"
#include <span>

namespace meshwright::runtime::cuda {

/// The runtime's own kernels, for every reduction and type, in the context that was current when they were loaded. They
/// have the bits of `getReduceFn`, which does the same on the host.
class ReductionKernels {
public:
  static Result<std::unique_ptr<ReductionKernels>> load(const CudaApi &api);

  /// The kernel of a reduction that is defined on the type, for launches with so many arrays that go in and come out.
  Result<CUfunction> find(Collective::Reduction reduction, DType type, size_t arrays) const;
  /// Reduces elements [begin, end) of `inputs`, in their order, into the same places of every one of `outputs`.
  Status launch(CUfunction kernel, std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs,
                uint64_t begin, uint64_t end, CUstream stream) const;

private:
  explicit ReductionKernels(const CudaApi &api) : api(api) {}

  const CudaApi &api;
  Module module;
};

} // namespace meshwright::runtime::cuda

#endif
