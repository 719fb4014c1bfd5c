//===- mpi-speed.cpp - how fast collectives between processes are ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpi-speed [ROUNDS]: times all-reduces of f32 by the backend, executed and started, and by MPI_Allreduce in the same
// processes, in turns, and then by threads of the first process. Prints medians of the rounds, in microseconds.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/World.h"
#include "test/unit/Runtime/RunRanks.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

/// An all-reduce over all ranks, with buffers of its own.
struct AllReduce {
  std::vector<float> in, out;
  uint32_t number = 0;

  Status prepare(Communicator &communicator, int64_t ranks, uint64_t count, bool isStarted) {
    in.assign(count, 1);
    out.assign(count, 0);
    CollectiveCall call;
    call.parts = {{count, reinterpret_cast<std::byte *>(in.data()), reinterpret_cast<std::byte *>(out.data())}};
    for (int64_t rank = 0; rank != ranks; ++rank)
      call.members.push_back(rank);
    call.isStarted = isStarted;
    MW_TRY_ASSIGN(number, communicator.prepare(std::move(call)));
    return {};
  }
};

constexpr uint64_t counts[] = {1, 16 << 10, 2 << 20};
int getRepeats(uint64_t count) { return count == 1 ? 1000 : count < 100000 ? 200 : 10; }

template <typename Fn> Result<double> measure(uint64_t count, Fn fn) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i != getRepeats(count); ++i)
    MW_TRY(fn());
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() /
         getRepeats(count);
}

double getMedian(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// One rank's collectives, executed and started, of each size.
struct Rank {
  AllReduce executed[3], started[3];

  /// What is started has a backend of its own: with a second thread, execution is another thing.
  Status prepare(Communicator &plain, Communicator &behind, int64_t ranks) {
    for (int i = 0; i != 3; ++i) {
      MW_TRY(executed[i].prepare(plain, ranks, counts[i], false));
      MW_TRY(started[i].prepare(behind, ranks, counts[i], true));
    }
    return {};
  }
};

Status connect(Backend &backend, int64_t rank) {
  backend.beginStep();
  Status status = backend.getCommunicator(rank).connect();
  backend.getCommunicator(rank).finishStep(status);
  return status;
}

/// Times in turns; a line per size on the first process.
Status compareOnProcesses(World &world, int rounds) {
  BackendOptions options;
  options.numRanks = world.getNumProcesses();
  MW_TRY_ASSIGN(std::unique_ptr<Backend> plain, world.createBackend(options));
  MW_TRY_ASSIGN(std::unique_ptr<Backend> behind, world.createBackend(options));
  Communicator &first = plain->getCommunicator(world.getProcess()),
               &second = behind->getCommunicator(world.getProcess());
  Rank rank;
  MW_TRY(rank.prepare(first, second, options.numRanks));
  MW_TRY(connect(*plain, world.getProcess()));
  MW_TRY(connect(*behind, world.getProcess()));
  for (int i = 0; i != 3; ++i) {
    std::vector<double> executed, started, library;
    for (int round = -1; round != rounds; ++round) {
      AllReduce &own = rank.executed[i], &other = rank.started[i];
      MW_TRY_ASSIGN(double a, measure(counts[i], [&] { return first.execute(own.number); }));
      MW_TRY_ASSIGN(double b, measure(counts[i], [&]() -> Status {
                      MW_TRY(second.start(other.number));
                      return second.wait(other.number);
                    }));
      MW_TRY_ASSIGN(double c, measure(counts[i], [&]() -> Status {
                      MPI_Allreduce(own.in.data(), own.out.data(), static_cast<int>(counts[i]), MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD);
                      return {};
                    }));
      // The first round finds memory and connections as they are.
      if (round < 0)
        continue;
      executed.push_back(a);
      started.push_back(b);
      library.push_back(c);
    }
    if (world.isFirst())
      fmt::print("{} processes, {} bytes: executed {:.2f}, started {:.2f}, MPI_Allreduce {:.2f}\n", options.numRanks,
                 counts[i] * sizeof(float), getMedian(executed), getMedian(started), getMedian(library));
  }
  first.finishStep({});
  second.finishStep({});
  return {};
}

Status measureOnThreads(int64_t ranks, int rounds) {
  auto plain = createInprocBackend(ranks), behind = createInprocBackend(ranks);
  std::vector<Rank> all(ranks);
  for (int64_t rank = 0; rank != ranks; ++rank)
    MW_TRY(all[rank].prepare(plain->getCommunicator(rank), behind->getCommunicator(rank), ranks));
  if (!connectRanks(*plain, ranks) || !connectRanks(*behind, ranks))
    return faultError("the threads cannot make their groups");
  for (int i = 0; i != 3; ++i) {
    std::vector<double> executed;
    for (int round = 0; round != rounds; ++round)
      for (const Status &status : runRanks(*plain, ranks, [&](int64_t rank) -> Status {
             MW_TRY_ASSIGN(double seconds, measure(counts[i], [&] {
                             return plain->getCommunicator(rank).execute(all[rank].executed[i].number);
                           }));
             if (rank == 0)
               executed.push_back(seconds);
             return {};
           }))
        MW_TRY(status);
    fmt::print("{} threads, {} bytes: executed {:.2f}\n", ranks, counts[i] * sizeof(float), getMedian(executed));
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  auto world = openWorld("mpi");
  Status status = world.status();
  if (status.ok())
    status = compareOnProcesses(**world, rounds);
  if (status.ok())
    status = (*world)->agree((*world)->isFirst() ? measureOnThreads((*world)->getNumProcesses(), rounds) : Status());
  if (!status.ok())
    fmt::print(stderr, "mpi-speed: error: {}\n", status.message());
  return static_cast<int>(status.code());
}
