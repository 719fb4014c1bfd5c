//===- collective-speed.cpp - speed of collectives of processes -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// collective-speed mpi|tcp [ROUNDS [BYTES...]]: times all-reduces and broadcasts of f32 by the backend, executed and
// started; with MPI in turns with MPI's own, in the same processes, and then by threads of the first process. Prints
// medians of the rounds, in microseconds. Every rank is the root of a broadcast in its turn, so that none begins before
// the last has come.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Catalog.h"
#include "meshwright/runtime/Inproc.h"
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

/// A collective over all ranks, with buffers of its own.
struct Timed {
  Collective::Kind kind;
  std::vector<float> in, out;
  /// By the root.
  std::vector<uint32_t> numbers;
  size_t next = 0;

  Status prepare(Communicator &communicator, int64_t rank, int64_t ranks, uint64_t count, bool isStarted) {
    in.assign(count, 1);
    out.assign(count, 0);
    for (int64_t root = 0; root != (hasRoot(kind) ? ranks : 1); ++root) {
      CollectiveCall call;
      call.kind = kind;
      bool hasIn = !hasRoot(kind) || rank == root;
      call.parts = {{count, hasIn ? reinterpret_cast<std::byte *>(in.data()) : nullptr,
                     reinterpret_cast<std::byte *>(out.data()), static_cast<uint32_t>(root)}};
      for (int64_t member = 0; member != ranks; ++member)
        call.members.push_back(member);
      call.isStarted = isStarted;
      MW_TRY_ASSIGN(uint32_t number, communicator.prepare(std::move(call)));
      numbers.push_back(number);
    }
    return {};
  }

  uint32_t getNext() { return numbers[next++ % numbers.size()]; }

  int callLibrary() {
    int count = static_cast<int>(in.size()), root = static_cast<int>(next++ % numbers.size());
    return hasRoot(kind) ? MPI_Bcast(out.data(), count, MPI_FLOAT, root, MPI_COMM_WORLD)
                         : MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
};

constexpr Collective::Kind kinds[] = {Collective::ALL_REDUCE, Collective::BROADCAST};
/// Those that are timed, in elements.
using Counts = std::vector<uint64_t>;
int getRepeats(uint64_t count) { return count < 1000 ? 1000 : count < 100000 ? 200 : 10; }

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

/// One rank's collectives, executed and started, of each size and kind.
struct Rank {
  std::vector<Timed> executed, started;

  /// Started collectives have a backend of their own, because a second thread changes the speed of synchronous ones.
  Status prepare(Communicator &plain, Communicator &asynchronous, int64_t rank, int64_t ranks, const Counts &counts) {
    for (uint64_t count : counts)
      for (Collective::Kind kind : kinds) {
        MW_TRY(executed.emplace_back(kind).prepare(plain, rank, ranks, count, false));
        MW_TRY(started.emplace_back(kind).prepare(asynchronous, rank, ranks, count, true));
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
Status compareOnProcesses(World &world, int rounds, const Counts &counts) {
  BackendOptions options;
  options.numRanks = world.getNumProcesses();
  MW_TRY_ASSIGN(std::unique_ptr<Backend> plain, world.createBackend(options));
  MW_TRY_ASSIGN(std::unique_ptr<Backend> asynchronous, world.createBackend(options));
  Communicator &first = plain->getCommunicator(world.getProcess()),
               &second = asynchronous->getCommunicator(world.getProcess());
  Rank rank;
  MW_TRY(rank.prepare(first, second, world.getProcess(), options.numRanks, counts));
  MW_TRY(connect(*plain, world.getProcess()));
  MW_TRY(connect(*asynchronous, world.getProcess()));
  for (size_t i = 0; i != rank.executed.size(); ++i) {
    Timed &own = rank.executed[i], &other = rank.started[i];
    uint64_t count = own.in.size();
    std::vector<double> executed, started, library;
    for (int round = -1; round != rounds; ++round) {
      MW_TRY_ASSIGN(double a, measure(count, [&] { return first.execute(own.getNext()); }));
      MW_TRY_ASSIGN(double b, measure(count, [&]() -> Status {
                      uint32_t number = other.getNext();
                      MW_TRY(second.start(number));
                      return second.wait(number);
                    }));
      double c = 0;
      if (world.getName() == "mpi") {
        MW_TRY_ASSIGN(c, measure(count, [&]() -> Status {
                        return own.callLibrary() == MPI_SUCCESS ? Status() : faultError("MPI's own fails");
                      }));
      }
      // The first round finds memory and connections as they are.
      if (round < 0)
        continue;
      executed.push_back(a);
      started.push_back(b);
      library.push_back(c);
    }
    if (!world.isFirst())
      continue;
    fmt::print("{} processes, {} of {} bytes: executed {:.2f}, started {:.2f}", options.numRanks, getName(own.kind),
               count * sizeof(float), getMedian(executed), getMedian(started));
    if (world.getName() == "mpi")
      fmt::print(", MPI's own {:.2f}", getMedian(library));
    fmt::print("\n");
  }
  first.finishStep({});
  second.finishStep({});
  // No process ends before its last messages have arrived.
  return world.agree({});
}

Status measureOnThreads(int64_t ranks, int rounds, const Counts &counts) {
  auto plain = createInprocBackend(ranks), asynchronous = createInprocBackend(ranks);
  std::vector<Rank> all(ranks);
  for (int64_t rank = 0; rank != ranks; ++rank)
    MW_TRY(all[rank].prepare(plain->getCommunicator(rank), asynchronous->getCommunicator(rank), rank, ranks, counts));
  if (!connectRanks(*plain, ranks) || !connectRanks(*asynchronous, ranks))
    return faultError("the threads cannot make their groups");
  for (size_t i = 0; i != all[0].executed.size(); ++i) {
    uint64_t count = all[0].executed[i].in.size();
    std::vector<double> executed;
    for (int round = 0; round != rounds; ++round)
      for (const Status &status : runRanks(*plain, ranks, [&](int64_t rank) -> Status {
             MW_TRY_ASSIGN(double seconds, measure(count, [&] {
                             return plain->getCommunicator(rank).execute(all[rank].executed[i].getNext());
                           }));
             if (rank == 0)
               executed.push_back(seconds);
             return {};
           }))
        MW_TRY(status);
    fmt::print("{} threads, {} of {} bytes: executed {:.2f}\n", ranks, getName(all[0].executed[i].kind),
               count * sizeof(float), getMedian(executed));
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  std::string name = argc > 1 ? argv[1] : "mpi";
  int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 9;
  Counts counts;
  for (int i = 3; i < argc; ++i)
    counts.push_back(static_cast<uint64_t>(std::max(1, std::atoi(argv[i]) / 4)));
  if (counts.empty())
    counts = {1, 16 << 10, 2 << 20};
  auto world = openWorld(name);
  Status status = world.status();
  if (status.ok())
    status = compareOnProcesses(**world, rounds, counts);
  if (status.ok() && name == "mpi")
    status =
        (*world)->agree((*world)->isFirst() ? measureOnThreads((*world)->getNumProcesses(), rounds, counts) : Status());
  if (!status.ok())
    fmt::print(stderr, "collective-speed: error: {}\n", status.message());
  return static_cast<int>(status.code());
}
