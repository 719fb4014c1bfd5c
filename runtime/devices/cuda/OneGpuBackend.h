//===- OneGpuBackend.h - ranks that share a GPU -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks are threads of this process and have arenas and streams of their own on one GPU. Their collectives read and
// write each other's arenas, as those of threads do (SharedWork.h), with sums by kernels in the order of the members.
//
// For each collective the threads meet twice, to tell each other events; they do not wait for the GPU. With two
// members:
//
//   rank 0   communication  ── arrived ──▸ work of rank 0 ── worked ──▸ done
//                                 ╲ ╱                          ╲ ╱
//   rank 1   communication  ── arrived ──▸ work of rank 1 ── worked ──▸ done
//                host          meet                         meet
//
// So no operand is read before it is there, and no rank goes on before the others are done with its buffers. An
// event is recorded before any rank waits for it, so that no stream waits for what may never come: where a rank fails,
// the others hear of it where they meet.
//
// Steps are not recorded as graphs: each rank would record its own, and a graph waits for nothing outside of it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_ONEGPUBACKEND_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_ONEGPUBACKEND_H

#include "CudaCommunicator.h"
#include "ReductionKernels.h"
#include "meshwright/runtime/Hub.h"

namespace meshwright::runtime::cuda {

/// The ranks of one group: their meeting place, and events of every member.
struct OneGpuGroup {
  inproc::Group *meeting = nullptr;
  std::vector<Event> arrived, worked;
};

class OneGpuCommunicator;

class OneGpuBackend : public Backend {
public:
  /// A rank for each of `devices`, which are all on one GPU.
  static Result<std::unique_ptr<Backend>> create(const BackendOptions &options,
                                                 std::span<const std::unique_ptr<Device>> devices);
  ~OneGpuBackend() override;

  RankRange getRanks() const override { return {0, static_cast<int64_t>(communicators.size())}; }
  Communicator &getCommunicator(int64_t rank) override;
  void beginStep() override;
  void setProfiling(bool on) override {}

  inproc::Hub &getHub() { return hub; }
  const ReductionKernels &getKernels() const { return *kernels; }
  /// The group of these ranks, made when it is asked for first.
  OneGpuGroup &getGroup(const Members &members);

private:
  explicit OneGpuBackend(const BackendOptions &options);

  inproc::Hub hub;
  std::vector<CudaDevice *> devices;
  std::unique_ptr<ReductionKernels> kernels;
  std::mutex mutex;
  std::map<Members, OneGpuGroup> groups;
  std::vector<std::unique_ptr<OneGpuCommunicator>> communicators;
};

} // namespace meshwright::runtime::cuda

#endif
