//===- NcclCommunicator.h - one rank's collectives by NCCL ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_NCCLCOMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_NCCLCOMMUNICATOR_H

#include "CudaCommunicator.h"
#include "NcclBackend.h"
#include "ReductionKernels.h"

namespace meshwright::runtime::cuda {

/// Reductions that NCCL does not know, of 16-bit integers and bit by bit, gather the operands of all members and reduce
/// them by a kernel of the runtime.
class NcclCommunicator : public CudaCommunicator {
public:
  NcclCommunicator(NcclBackend &backend, CudaDevice &device, int64_t rank)
      : CudaCommunicator(device, rank), backend(backend) {}
  ~NcclCommunicator() override;

  Status connect() override;
  void finishStep(const Status &status) override;

  /// Ends what is under way on the device, from any thread.
  void abort();

private:
  struct NcclCollective : Prepared {
    ncclComm_t comm = nullptr;
    ncclDataType_t type;
    uint64_t scale; // elements of NCCL's type for one of the package's
    ncclRedOp_t reduction;
    /// For types that NCCL does not reduce: memory for the operands of all members, by part and member.
    CUfunction kernel = nullptr;
    std::vector<const std::byte *> gathered;
  };
  Result<std::unique_ptr<Prepared>> prepareGroup(const CollectiveCall &call) override;
  Status issue(Prepared &prepared) override;
  std::set<Members> listGroups() const;
  Status makeCommunicators(const std::vector<Members> &round);
  Status makeCommunicator(const Members &members, ncclComm_t &comm);
  Status giveCommunicators();
  Status settle(ncclComm_t comm);
  Result<CUfunction> findKernel(const CollectiveCall &call);
  Status allocateScratch();
  Status issueLaunch(const NcclCollective &prepared);
  Status issuePart(const NcclCollective &prepared, const CallPart &part);
  Status sendPart(const NcclCollective &prepared, const CallPart &part);
  Status exchangeAll(const NcclCollective &prepared, const std::byte *in, std::byte *out, uint64_t count);
  Status gatherPart(const NcclCollective &prepared, size_t index);
  Status reduceGathered(const NcclCollective &prepared);

  NcclBackend &backend;
  /// Held while a communicator is used, so that no other thread ends it meanwhile.
  std::mutex mutex;
  std::map<Members, ncclComm_t> comms;
  bool isAborted = false;
  /// Where reductions need them.
  std::unique_ptr<ReductionKernels> kernels;
  DeviceMemory scratch;
};

} // namespace meshwright::runtime::cuda

#endif
