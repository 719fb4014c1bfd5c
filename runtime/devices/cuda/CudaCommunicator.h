//===- CudaCommunicator.h - one rank's collectives on a GPU -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDACOMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_CUDACOMMUNICATOR_H

#include "CudaDevice.h"
#include "meshwright/runtime/Communicator.h"
#include <set>

namespace meshwright::runtime::cuda {

/// Ranks in the order of their coordinates.
using Members = std::vector<int64_t>;

/// Collectives as work on the rank's communication stream: after the computation's requests until then, and
/// waited for by the device alone. In a group of one nothing travels: they are copies.
class CudaCommunicator : public Communicator {
public:
  CudaCommunicator(CudaDevice &device, int64_t rank) : device(device), rank(rank) {}

  Result<uint32_t> prepare(CollectiveCall call) override;
  Status execute(uint32_t number) override;
  Status start(uint32_t number) override;
  Status wait(uint32_t number) override;
  double getCpuSeconds(uint32_t number) const override { return 0; }
  void setTrace(std::vector<TimeRange> *newTimes) override;

protected:
  /// A collective with what its execution needs at hand.
  struct Prepared {
    virtual ~Prepared() = default;

    CollectiveCall call;
    size_t position = 0; // of this rank in the group
    Event done;
  };
  /// Makes what stands for a collective of several ranks, which `call` is.
  virtual Result<std::unique_ptr<Prepared>> prepareGroup(const CollectiveCall &call) = 0;
  /// Asks the communication stream for a collective of several ranks. Errors say which one, as `locate` does, or are
  /// those of another rank.
  virtual Status issue(Prepared &prepared) = 0;
  /// An error of this rank, with the collective.
  Status locate(const Prepared &prepared, const Status &status) const;

  /// The groups of several ranks of all that was prepared.
  std::set<Members> getGroups() const;
  CUstream getStream() const { return device.getCommunicationStream(); }

  CudaDevice &device;
  int64_t rank;
  std::vector<std::unique_ptr<Prepared>> collectives;

private:
  Status copyParts(const CollectiveCall &call) const;

  /// The times of the collectives of a traced step, and their reader.
  std::vector<uint32_t> moments;
  std::vector<TimeRange> *times = nullptr;
};

} // namespace meshwright::runtime::cuda

#endif
