//===- OneGpuCommunicator.h - a rank's collectives on its GPU ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_ONEGPUCOMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_ONEGPUCOMMUNICATOR_H

#include "OneGpuBackend.h"
#include "meshwright/runtime/SharedWork.h"

namespace meshwright::runtime::cuda {

class OneGpuCommunicator : public CudaCommunicator {
public:
  OneGpuCommunicator(OneGpuBackend &backend, CudaDevice &device, int64_t rank)
      : CudaCommunicator(device, rank), backend(backend) {}

  Status connect() override;
  void finishStep(const Status &status) override;

private:
  /// A member's share, as work on its communication stream.
  class StreamWork : public SharedWork {
  public:
    StreamWork(size_t members, const ReductionKernels &kernels, CUfunction kernel, const CudaDevice &device)
        : SharedWork(members), kernels(kernels), kernel(kernel), device(device) {}

  private:
    Status reduce(std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs, uint64_t begin,
                  uint64_t end) override;
    Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override;

    const ReductionKernels &kernels;
    CUfunction kernel;
    const CudaDevice &device;
  };
  struct OneGpuCollective : Prepared {
    std::optional<StreamWork> work;
    OneGpuGroup *group = nullptr;
  };

  Result<std::unique_ptr<Prepared>> prepareGroup(const CollectiveCall &call) override;
  Status issue(Prepared &prepared) override;
  Status work(OneGpuCollective &prepared);
  Status note(const Event &event);
  Status joinOthers(const std::vector<Event> &events, size_t position);

  OneGpuBackend &backend;
};

} // namespace meshwright::runtime::cuda

#endif
