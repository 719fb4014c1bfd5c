//===- NcclBackend.h - ranks that reach each other by NCCL ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is issued on the rank's communication stream; only its device waits for it. Each group has a
// communicator of NCCL, made before the first step. Each device has one thread that issues, and the package's order of
// collectives is the same on all members of a group, which is what several communicators on one device need.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_NCCLBACKEND_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_NCCLBACKEND_H

#include "CudaCommunicator.h"
#include "NcclApi.h"
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace meshwright::runtime::cuda {

class NcclCommunicator;

class NcclBackend : public Backend {
public:
  /// The ranks of this process compute on `devices`. Opens NCCL where there are several ranks.
  static Result<std::unique_ptr<Backend>> create(World &world, const BackendOptions &options,
                                                 std::span<const std::unique_ptr<Device>> devices);
  ~NcclBackend() override;

  RankRange getRanks() const override { return range; }
  Communicator &getCommunicator(int64_t rank) override;
  void beginStep() override {}
  void setProfiling(bool on) override {}

  const NcclApi &getApi() const { return *api; }
  double getTimeout() const { return options.timeoutSeconds; }
  /// All ranks of all processes say their groups; returns when every group has an identifier. Once per rank.
  Status exchange(const std::set<Members> &groups);
  /// All groups in the order in which they are made, the same in all processes: those of one round have no rank in
  /// common.
  const std::vector<std::vector<Members>> &getRounds() const { return rounds; }
  /// Returns when all ranks of all processes have come here, or with the failure of one of this process.
  Status meet();
  const ncclUniqueId &getId(const Members &members) const { return ids.at(members); }

  /// A rank of this process has failed: collectives that wait for it on a device are ended.
  void fail(const Status &status);
  bool hasFailed() const { return isFailed; }
  /// Why the collectives of other ranks are no more.
  Status getFailure() const;

private:
  NcclBackend(World &world, const BackendOptions &options);
  Status exchangeIds();
  Status meetWith(std::unique_lock<std::mutex> &held, const std::function<Status()> &speak);

  World &world;
  BackendOptions options;
  RankRange range;
  std::unique_ptr<NcclApi> api;
  std::vector<std::unique_ptr<NcclCommunicator>> communicators;

  mutable std::mutex mutex;
  std::condition_variable changed;
  /// The ranks of this process in the meeting of that number, and how the last one ended.
  int64_t arrived = 0, meeting = 0;
  Status met;
  /// The identifiers of the ranks of this process; after the exchange those of all groups.
  std::set<Members> ownGroups;
  std::map<Members, ncclUniqueId> ids;
  std::vector<std::vector<Members>> rounds;
  Status failure;
  std::atomic<bool> isFailed = false;
};

} // namespace meshwright::runtime::cuda

#endif
