//===- CudaCollectivesTest.cpp - collectives of NCCL and of threads -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random collectives of ranks with a GPU each do what those of threads do. Both reduce over the members in their order,
// so the bytes of all buffers are the same.
//
//===----------------------------------------------------------------------===//

#include "StubRun.h"
#include "test/runtime/mpi/CollectiveScript.h"
#include "test/unit/Runtime/RunRanks.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// What NCCL knows how to reduce.
static bool isOfNccl(const CollectiveCall &call) {
  bool isBitwise = call.reduction == Collective::AND || call.reduction == Collective::OR;
  return !isReducing(call.kind) || (!isBitwise && call.type != I16 && call.type != U16);
}

static meshwright::Package makeRanks(int64_t numRanks) {
  meshwright::Package message;
  message.set_version(5);
  Axis *axis = message.add_axes();
  axis->set_name("dp");
  axis->set_size(numRanks);
  message.add_programs();
  for (int64_t rank = 0; rank != numRanks; ++rank)
    message.add_program_of_rank(0);
  return message;
}

static void runScript(std::vector<ScriptedRank> &ranks, Backend &backend) {
  auto numRanks = static_cast<int64_t>(ranks.size());
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    Status status = ranks[rank].prepare(backend.getCommunicator(rank));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(connectRanks(backend, numRanks));
  for (int step = 0; step != 2; ++step)
    for (const Status &status :
         runRanks(backend, numRanks, [&](int64_t rank) { return ranks[rank].run(backend.getCommunicator(rank)); }))
      ASSERT_TRUE(status.ok()) << status.message();
}

static void checkRound(uint64_t seed, int64_t numRanks) {
  CollectiveScript script(seed, numRanks, 30, 5000, isOfNccl);
  std::vector<ScriptedRank> onThreads, onDevices;
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    onThreads.emplace_back(script, seed, rank);
    onDevices.emplace_back(script, seed, rank);
  }
  runScript(onThreads, *createInprocBackend(numRanks));
  {
    std::unique_ptr<World> world = createLocalWorld();
    LoadedPackage package = std::move(*LoadedPackage::create(makeRanks(numRanks), "none", std::nullopt));
    auto platform = createCudaPlatform(package, *world, numRanks, {});
    ASSERT_TRUE(platform.ok()) << platform.status().message();
    std::vector<std::unique_ptr<Device>> devices;
    for (int64_t rank = 0; rank != numRanks; ++rank)
      devices.push_back(std::move(*(*platform)->createDevice(rank)));
    BackendOptions options;
    options.numRanks = numRanks;
    auto backend = (*platform)->createBackend(options, devices);
    ASSERT_TRUE(backend.ok()) << backend.status().message();
    runScript(onDevices, **backend);
    // The devices are gone when they have done everything.
  }
  for (int64_t rank = 0; rank != numRanks; ++rank)
    if (const CollectiveCall *call = onDevices[rank].findDifference(onThreads[rank]))
      ADD_FAILURE() << "seed " << seed << ", rank " << rank << " of " << numRanks << ": " << getName(call->kind)
                    << " of " << getName(call->type) << " by " << call->reduction << " in a group of "
                    << call->members.size();
}

TEST(CudaCollectives, DoWhatThoseOfThreadsDo) {
  setenv("MESHWRIGHT_STUB_ANY_MEMORY", "1", 1);
  Stub stub;
  for (uint64_t seed = 0; seed != 20; ++seed)
    checkRound(seed, static_cast<int64_t>(seed % 4) + 1);
  EXPECT_EQ(stub.countLive(), 0u);
  unsetenv("MESHWRIGHT_STUB_ANY_MEMORY");
}

TEST(CudaCollectives, WhatNcclDoesNotKnowIsSaid) {
  Stub stub;
  std::unique_ptr<World> world = createLocalWorld();
  LoadedPackage package = std::move(*LoadedPackage::create(makeRanks(2), "none", std::nullopt));
  auto platform = createCudaPlatform(package, *world, 2, {});
  ASSERT_TRUE(platform.ok()) << platform.status().message();
  std::vector<std::unique_ptr<Device>> devices;
  for (int64_t rank : {0, 1})
    devices.push_back(std::move(*(*platform)->createDevice(rank)));
  BackendOptions options;
  options.numRanks = 2;
  auto backend = (*platform)->createBackend(options, devices);
  ASSERT_TRUE(backend.ok()) << backend.status().message();
  CollectiveCall call;
  call.members = {0, 1};
  call.type = I16;
  call.tag = 7;
  call.name = "grad/w";
  call.location = "model.mlir:88";
  EXPECT_EQ((*backend)->getCommunicator(1).prepare(call).status().message(),
            "rank 1: c_allreduce #7 (grad/w, model.mlir:88) reduces i16 in a way that NCCL does not know");
  call.kind = Collective::ALL_GATHER;
  EXPECT_TRUE((*backend)->getCommunicator(1).prepare(call).ok());
}
