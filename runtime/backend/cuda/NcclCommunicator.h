//===- NcclCommunicator.h - one rank's collectives on a GPU -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_CUDA_NCCLCOMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_BACKEND_CUDA_NCCLCOMMUNICATOR_H

#include "NcclBackend.h"

namespace meshwright::runtime::cuda {

/// In a group of one nothing travels: collectives there are copies, and NCCL is not asked.
class NcclCommunicator : public Communicator {
public:
  NcclCommunicator(NcclBackend &backend, CudaDevice &device, int64_t rank)
      : backend(backend), device(device), rank(rank) {}
  ~NcclCommunicator() override;

  Result<uint32_t> prepare(CollectiveCall call) override;
  Status connect() override;
  Status execute(uint32_t number) override;
  Status start(uint32_t number) override;
  Status wait(uint32_t number) override;
  void finishStep(const Status &status) override;
  double getCpuSeconds(uint32_t number) const override { return 0; }

  /// Ends what is under way on the device, from any thread.
  void abort();

private:
  struct Prepared {
    CollectiveCall call;
    ncclComm_t comm = nullptr;
    uint64_t position; // of this rank in the group
    ncclDataType_t type;
    uint64_t scale; // elements of NCCL's type for one of the package's
    ncclRedOp_t reduction;
    Event done;
  };
  Status makeCommunicator(const Members &members, ncclComm_t &comm);
  Status settle(ncclComm_t comm);
  Status issue(const Prepared &prepared);
  Status issueGroup(const Prepared &prepared);
  Status issuePart(const Prepared &prepared, const CallPart &part);
  Status exchangeParts(const Prepared &prepared, const CallPart &part);
  Status copyPart(const Prepared &prepared, const CallPart &part);

  NcclBackend &backend;
  CudaDevice &device;
  int64_t rank;
  std::vector<std::unique_ptr<Prepared>> collectives;
  /// Held while a communicator is used, so that nobody ends it meanwhile.
  std::mutex mutex;
  std::map<Members, ncclComm_t> comms;
  bool isAborted = false;
};

} // namespace meshwright::runtime::cuda

#endif
