//===- RunRanks.h - a thread per rank ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_RUNRANKS_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_RUNRANKS_H

#include "meshwright/runtime/Communicator.h"
#include <functional>
#include <thread>

namespace meshwright::test {

/// Runs work(rank) on a thread per rank, as one step.
inline std::vector<runtime::Status> runRanks(runtime::Backend &backend, int64_t ranks,
                                             const std::function<runtime::Status(int64_t)> &work) {
  std::vector<runtime::Status> results(ranks);
  std::vector<std::thread> threads;
  backend.beginStep();
  for (int64_t rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] {
      results[rank] = work(rank);
      backend.getCommunicator(rank).finishStep(results[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// True if `attempt(seconds)` succeeds for one of three times. The time by which ranks are distinguished is far longer
/// than their work; if a busy machine makes it too short, a longer one is tried.
template <typename Attempt> bool happensInTime(Attempt attempt) {
  for (double seconds : {0.2, 2., 20.})
    if (attempt(seconds))
      return true;
  return false;
}

/// Lets all ranks make their groups. Whether all could.
inline bool connectRanks(runtime::Backend &backend, int64_t ranks) {
  for (const runtime::Status &status :
       runRanks(backend, ranks, [&](int64_t rank) { return backend.getCommunicator(rank).connect(); }))
    if (!status.ok())
      return false;
  return true;
}

} // namespace meshwright::test

#endif
