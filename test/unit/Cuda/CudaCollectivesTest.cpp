//===- CudaCollectivesTest.cpp - collectives of NCCL and of threads -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random collectives of ranks with a GPU each, or all on one, do what those of threads do. All reduce over the members
// in their order, so the bytes of all buffers are the same.
//
//===----------------------------------------------------------------------===//

#include "StubRun.h"
#include "meshwright/runtime/Cuda.h"
#include "meshwright/runtime/Decorator.h"
#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/SchemaVersion.h"
#include "test/runtime/mpi/CollectiveScript.h"
#include "test/unit/Runtime/RunRanks.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

static meshwright::Package makeRanks(int64_t numRanks) {
  meshwright::Package message;
  message.set_version(runtime::schemaVersion);
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

static void checkRound(uint64_t seed, int64_t numRanks, const PlatformOptions &cuda) {
  CollectiveScript script(seed, numRanks, 30, 5000);
  std::vector<ScriptedRank> onThreads, onDevices;
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    onThreads.emplace_back(script, seed, rank);
    onDevices.emplace_back(script, seed, rank);
  }
  runScript(onThreads, *createInprocBackend(numRanks));
  {
    std::unique_ptr<World> world = createLocalWorld();
    LoadedPackage package = std::move(*LoadedPackage::create(makeRanks(numRanks), "none", std::nullopt));
    auto platform = cudaKind.createPlatform(package, *world, numRanks, cuda);
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
      ADD_FAILURE() << "seed " << seed << ", rank " << rank << " of " << numRanks << ": "
                    << runtime::getName(call->kind) << " of " << runtime::getName(call->type) << " by "
                    << call->reduction << " in a group of " << call->members.size();
}

/// The parameter is true if every rank has a GPU, false if all ranks share one.
class CudaCollectives : public testing::TestWithParam<bool> {};

TEST_P(CudaCollectives, DoWhatThoseOfThreadsDo) {
  setenv("MESHWRIGHT_STUB_ANY_MEMORY", "1", 1);
  Stub stub;
  PlatformOptions cuda;
  cuda.backend = GetParam() ? "onegpu" : "nccl";
  for (uint64_t seed = 0; seed != 20; ++seed)
    checkRound(seed, static_cast<int64_t>(seed % 4) + 1, cuda);
  EXPECT_EQ(stub.countLive(), 0u);
  unsetenv("MESHWRIGHT_STUB_ANY_MEMORY");
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudaCollectives, testing::Bool(),
                         [](const auto &info) { return info.param ? "One" : "Each"; });

TEST(OneGpu, ReducesAmongALimitedNumberOfRanks) {
  Stub stub;
  std::unique_ptr<World> world = createLocalWorld();
  LoadedPackage package = std::move(*LoadedPackage::create(makeRanks(1), "none", std::nullopt));
  PlatformOptions cuda;
  cuda.backend = "onegpu";
  auto platform = std::move(*cudaKind.createPlatform(package, *world, 1, cuda));
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::move(*platform->createDevice(0)));
  auto backend = std::move(*platform->createBackend({}, devices));
  CollectiveCall call;
  call.tag = 7;
  call.name = "grad/w";
  for (int64_t rank = 0; rank != 241; ++rank)
    call.members.push_back(rank);
  EXPECT_EQ(backend->getCommunicator(0).prepare(call).status().message(),
            "rank 0: c_allreduce #7 (grad/w): a reduction on GPUs has at most 480 arrays that go in and come out, and "
            "482 are wanted");
  call.members.pop_back();
  EXPECT_TRUE(backend->getCommunicator(0).prepare(call).ok());
}

TEST(OneGpu, WantsOneProcess) {
  class TwoProcesses : public WorldDecorator {
  public:
    explicit TwoProcesses(World &inner) : WorldDecorator(inner, nullptr) {}
    int64_t getNumProcesses() const override { return 2; }
    Status broadcast(std::span<std::byte>) override { return {}; }
    Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) override {
      Bytes bytes(mine.begin(), mine.end());
      return std::vector<Bytes>{bytes, bytes};
    }
  };
  Stub stub;
  std::unique_ptr<World> world = createLocalWorld();
  TwoProcesses two(*world);
  LoadedPackage package = std::move(*LoadedPackage::create(makeRanks(2), "none", std::nullopt));
  PlatformOptions cuda;
  cuda.backend = "onegpu";
  EXPECT_EQ(cudaKind.createPlatform(package, two, 2, cuda).status().message(),
            "ranks that share one GPU are of one process, but the run has 2");
}
