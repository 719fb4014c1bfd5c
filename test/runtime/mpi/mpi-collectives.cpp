//===- mpi-collectives.cpp - random collectives on processes --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpi-collectives SEED ROUNDS [COUNT]: every round draws a script of collectives with up to COUNT elements, which runs
// on the processes that mpirun has started, and on threads of each of them. The bytes of all buffers have to be the
// same.
//
//===----------------------------------------------------------------------===//

#include "CollectiveScript.h"
#include "meshwright/runtime/Catalog.h"
#include "meshwright/runtime/Inproc.h"
#include "test/unit/Runtime/RunRanks.h"
#include <cstdio>
#include <cstdlib>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

static constexpr int numSteps = 2;

/// Runs the script on threads; all ranks' buffers end as they should in the other run.
static Status runOnThreads(std::vector<ScriptedRank> &ranks) {
  auto backend = createInprocBackend(static_cast<int64_t>(ranks.size()));
  for (size_t rank = 0; rank != ranks.size(); ++rank)
    MW_TRY(ranks[rank].prepare(backend->getCommunicator(static_cast<int64_t>(rank))));
  if (!connectRanks(*backend, static_cast<int64_t>(ranks.size())))
    return faultError("the threads cannot make their groups");
  for (int step = 0; step != numSteps; ++step)
    for (const Status &status : runRanks(*backend, static_cast<int64_t>(ranks.size()),
                                         [&](int64_t rank) { return ranks[rank].run(backend->getCommunicator(rank)); }))
      MW_TRY(status);
  return {};
}

static Status runOnProcesses(World &world, ScriptedRank &mine, bool checkAlways) {
  BackendOptions options;
  options.numRanks = world.getNumProcesses();
  options.checkCollectives = checkAlways;
  options.timeoutSeconds = 60;
  MW_TRY_ASSIGN(std::unique_ptr<Backend> backend, world.createBackend(options));
  Communicator &communicator = backend->getCommunicator(world.getProcess());
  MW_TRY(mine.prepare(communicator));
  backend->beginStep();
  Status status = communicator.connect();
  communicator.finishStep(status);
  for (int step = 0; step != numSteps && status.ok(); ++step) {
    backend->beginStep();
    status = mine.run(communicator);
    communicator.finishStep(status);
  }
  return status;
}

/// Ranks keep what they reduce in different numbers of places, which they take in turns.
static Status checkPlaces(World &world) {
  BackendOptions options;
  options.numRanks = world.getNumProcesses();
  MW_TRY_ASSIGN(std::unique_ptr<Backend> backend, world.createBackend(options));
  Communicator &communicator = backend->getCommunicator(world.getProcess());
  std::vector<double> places(1 + world.getProcess());
  std::vector<uint32_t> numbers;
  for (double &place : places) {
    CollectiveCall call;
    call.type = F64;
    call.parts = {{1, reinterpret_cast<std::byte *>(&place), reinterpret_cast<std::byte *>(&place)}};
    for (int64_t rank = 0; rank != options.numRanks; ++rank)
      call.members.push_back(rank);
    MW_TRY_ASSIGN(uint32_t number, communicator.prepare(std::move(call)));
    numbers.push_back(number);
  }
  Status status = communicator.connect();
  for (int64_t turn = 0; turn != 2 * options.numRanks && status.ok(); ++turn) {
    double &place = places[turn % places.size()];
    place = static_cast<double>(turn + world.getProcess());
    status = communicator.execute(numbers[turn % numbers.size()]);
    int64_t n = options.numRanks;
    if (status.ok() && place != static_cast<double>(turn * n + n * (n - 1) / 2))
      status = Status(Code::CheckFailed, fmt::format("turn {}: the sum is {}", turn, place));
  }
  communicator.finishStep(status);
  return status;
}

static Status runRound(World &world, uint64_t seed, uint64_t maxCount) {
  CollectiveScript script(seed, world.getNumProcesses(), 30, maxCount);
  std::vector<ScriptedRank> ranks;
  for (int64_t rank = 0; rank != world.getNumProcesses(); ++rank)
    ranks.emplace_back(script, seed, rank);
  MW_TRY(runOnThreads(ranks));
  ScriptedRank mine(script, seed, world.getProcess());
  MW_TRY(runOnProcesses(world, mine, seed % 2 != 0));
  Status status;
  if (const CollectiveCall *call = mine.findDifference(ranks[world.getProcess()]))
    status =
        Status(Code::CheckFailed, fmt::format("seed {}: rank {}: {} #{} of {} in a group of {} differs from threads",
                                              seed, world.getProcess(), runtime::getName(call->kind), call->tag,
                                              runtime::getName(call->type), call->members.size()));
  return world.agree(status);
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  uint64_t maxCount = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 30000;
  auto world = openWorld("mpi");
  Status status = world.status();
  if (status.ok())
    status = checkPlaces(**world);
  for (uint64_t round = 0; status.ok() && round != rounds; ++round)
    status = runRound(**world, seed + round, maxCount);
  if (!status.ok())
    fmt::print(stderr, "mpi-collectives: error: {}\n", status.message());
  else if ((*world)->isFirst())
    fmt::print("{} rounds on {} processes agree\n", rounds, (*world)->getNumProcesses());
  return static_cast<int>(status.code());
}
