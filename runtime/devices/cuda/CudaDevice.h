//===- CudaDevice.h - a rank that computes on a GPU -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four streams, each a queue of its own on the device:
//
//   compute         kernels, products, copies within a memory
//   communication   collectives, in the order of issue
//   fetch           copies from the host's memory
//   write-back      copies to it
//
// A start on another stream comes after the computation's earlier requests, and a wait for it makes
// the computation come after it, by events alone: the host goes on.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDADEVICE_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDADEVICE_H

#include "CudaKernels.h"
#include "CudaProducts.h"
#include "CudaRanges.h"
#include "CudaReadings.h"
#include "CudaTrace.h"
#include "Staging.h"
#include "meshwright/runtime/Platform.h"

namespace meshwright::runtime::cuda {

/// The state that the devices of a process share.
struct CudaShared {
  std::unique_ptr<CudaApi> api;
  std::unique_ptr<CublasLtApi> lt;
  KernelImage image;
  PlatformOptions options;
};

/// The context that a process has on a device.
class PrimaryContext {
public:
  PrimaryContext() = default;
  PrimaryContext(const PrimaryContext &) = delete;
  PrimaryContext &operator=(const PrimaryContext &) = delete;
  ~PrimaryContext();
  Status retain(const CudaApi &driver, CUdevice number);
  bool isRetained() const { return context != nullptr; }
  /// Makes it that of the calling thread.
  Status use() const;

private:
  const CudaApi *api = nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;
};

class CudaDevice : public Device {
public:
  /// The device of that ordinal. What is shared outlives it.
  static Result<std::unique_ptr<CudaDevice>> create(const CudaShared &shared, int ordinal);
  ~CudaDevice() override;

  Status allocate(uint64_t deviceBytes, uint64_t hostBytes, uint64_t fedBytes) override;
  Status share(const Device &owner, uint64_t fedBytes) override;
  std::byte *getArena(Memory memory) const override;
  Result<uint32_t> prepareKernel(const std::string &symbol, std::span<const std::span<std::byte>> buffers,
                                 uint32_t numOutputs) override;
  Result<uint32_t> prepareMatmul(const Instruction &instruction, const MatmulAddresses &addresses) override;
  bool hasEpilogue(uint32_t matmul) const override { return products->hasEpilogue(matmul); }
  /// An error: packages for GPUs have kernels instead.
  Result<uint32_t> prepareConvolution(const Instruction &instruction, const std::byte *lhs, const std::byte *rhs,
                                      std::byte *out) override;
  Result<uint32_t> prepareCopy(std::byte *to, const std::byte *from, uint64_t bytes, CopyPath path) override;
  Status finishPreparation() override;

  Status launch(uint32_t kernel) override;
  Status multiply(uint32_t matmul) override;
  Status convolve(uint32_t convolution) override;
  Status store(std::byte *to, int32_t value) override;
  Status copy(uint32_t number) override;
  Status startCopy(uint32_t number) override;
  Status waitCopy(uint32_t number) override;
  /// Nothing: what comes later waits on the device.
  Status finishStep() override { return {}; }

  Result<bool> replay(size_t variant) override;
  Status record(size_t variant, const std::function<Status()> &issue) override;

  Result<std::span<std::byte>> prepareReadings(std::span<const std::span<const std::byte>> scalars) override;
  Status beginReadings(uint32_t place) override { return readings->begin(place, compute.get()); }
  Status takeReadings(uint32_t place) override { return readings->take(place, compute.get()); }
  Result<double> finishReadings(uint32_t place) override;

  Status write(std::byte *to, std::span<const std::byte> from) override;
  Status read(std::span<std::byte> to, const std::byte *from) const override;
  Status synchronize() const override;
  bool isAddressable() const override { return false; }

  Status beginTrace() override;
  Status mark() override;
  Result<DeviceTrace> endTrace() override;
  bool showsRanges() const override { return isProfilerThere(); }
  void pushRange(const char *name) override { cuda::pushRange(name); }
  void popRange() override { cuda::popRange(); }
  uint64_t getScratchBytes() const override;
  uint64_t getHostSyncs() const override { return hostSyncs; }
  std::vector<std::string> getWarnings() const override;

  // For the communicator.

  const CudaApi &getApi() const { return api; }
  Status use() const { return context.use(); }
  CUstream getCommunicationStream() const { return communication.get(); }
  /// Work on another stream comes after what the computation was asked for until now.
  Status fork(CUstream stream);
  /// The computation goes on after `event`.
  Status join(CUevent event);
  /// The communicator has so much scratch memory of its own.
  void noteScratch(uint64_t bytes) { communicationScratch = bytes; }
  /// Calls issue(), which asks a stream for something, and adds to `moments` those before and after it, while
  /// the device is traced.
  template <typename Fn> Status traceOn(CUstream stream, std::vector<uint32_t> &moments, Fn &&issue) {
    if (!trace.isOn())
      return issue();
    MW_TRY_ASSIGN(moments.emplace_back(), trace.mark(stream));
    MW_TRY(issue());
    MW_TRY_ASSIGN(moments.emplace_back(), trace.mark(stream));
    return {};
  }
  /// When such moments were, two and two, after the trace.
  std::vector<TimeRange> getTimes(const std::vector<uint32_t> &moments) const;

private:
  struct Copy {
    CopyPath path;
    std::byte *to;
    const std::byte *from;
    uint64_t bytes;
    Event done; // of copies between the memories
  };
  CudaDevice(const CudaShared &shared, int ordinal)
      : shared(shared), api(*shared.api), ordinal(ordinal), trace(*shared.api) {}
  Status prepareStreams();
  /// The users of the arenas: the ring of fed values, so many bytes a step, and the libraries.
  Status prepareWork(uint64_t fedBytes);
  /// Asks from time to time whether the device has come to something, because it may wait for a rank that does not
  /// come.
  template <typename Query> Status await(Query &&query, const char *function) const;
  bool isInHostArena(const std::byte *address) const;
  CUstream getStream(CopyPath path) const { return (path == CopyPath::ToHost ? writeBack : fetch).get(); }

  const CudaShared &shared;
  const CudaApi &api;
  int ordinal;
  /// First, because all others are of it.
  PrimaryContext context;
  Stream compute, communication, fetch, writeBack;
  Event forked;
  CUdeviceptr ownArena = 0;
  PinnedMemory ownHostArena;
  /// Those that are used, its own or another's.
  CUdeviceptr arena = 0;
  std::byte *hostArena = nullptr;
  uint64_t hostArenaBytes = 0;
  mutable Staging staging;
  std::unique_ptr<CudaKernels> kernels;
  std::unique_ptr<CudaProducts> products;
  std::unique_ptr<CudaReadings> readings;
  CudaTrace trace;
  /// The moments of the computation's marks, and those of copies.
  std::vector<uint32_t> marks, copyMoments;
  std::vector<Copy> copies;
  /// Recorded steps, by variant.
  std::map<size_t, GraphExec> graphs;
  uint64_t communicationScratch = 0;
  mutable uint64_t hostSyncs = 0;
};

} // namespace meshwright::runtime::cuda

#endif
