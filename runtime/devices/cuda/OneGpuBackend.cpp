//===- OneGpuBackend.cpp - ranks that share a GPU -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OneGpuBackend.h"
#include "OneGpuCommunicator.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

OneGpuBackend::OneGpuBackend(const BackendOptions &options) : hub([](const Status &) {}, options.timeoutSeconds) {}

Result<std::unique_ptr<Backend>> OneGpuBackend::create(const BackendOptions &options,
                                                       std::span<const std::unique_ptr<Device>> devices) {
  assert(options.numRanks == static_cast<int64_t>(devices.size()) && "all ranks are of this process");
  std::unique_ptr<OneGpuBackend> backend(new OneGpuBackend(options));
  for (const std::unique_ptr<Device> &device : devices) {
    backend->devices.push_back(static_cast<CudaDevice *>(device.get()));
    backend->communicators.push_back(std::make_unique<OneGpuCommunicator>(
        *backend, *backend->devices.back(), static_cast<int64_t>(backend->communicators.size())));
  }
  // One context is that of all.
  const CudaDevice &first = *backend->devices.front();
  MW_TRY(first.use());
  MW_TRY_ASSIGN(backend->kernels, ReductionKernels::load(first.getApi()));
  return std::unique_ptr<Backend>(std::move(backend));
}

/// Work that is under way uses arenas of several ranks. They are there as long as this is.
OneGpuBackend::~OneGpuBackend() {
  (void)devices.front()->use();
  for (const CudaDevice *device : devices)
    (void)device->getApi().cuStreamSynchronize(device->getCommunicationStream());
}

Communicator &OneGpuBackend::getCommunicator(int64_t rank) { return *communicators[rank]; }

void OneGpuBackend::beginStep() {
  inproc::Hub::Lock held = hub.lock();
  hub.begin(communicators.size());
}

OneGpuGroup &OneGpuBackend::getGroup(const Members &members) {
  std::lock_guard held(mutex);
  auto [entry, isNew] = groups.try_emplace(members);
  if (isNew) {
    entry->second.meeting = hub.getGroup(members);
    entry->second.arrived.resize(members.size());
    entry->second.worked.resize(members.size());
  }
  return entry->second;
}
