//===- RankTeam.h - one thread per rank -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_RANKTEAM_H
#define MESHWRIGHT_RUNTIME_RANKTEAM_H

#include "meshwright/runtime/Communicator.h"
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace meshwright::runtime {

/// A thread for each rank of this process; they sleep until there is work for all of them.
class RankTeam {
public:
  /// Starts the threads; an error where the system gives no more.
  static Result<std::unique_ptr<RankTeam>> create(RankRange ranks);
  ~RankTeam();

  /// Calls work(rank) on every rank's thread and waits for all. The error of the lowest rank that has one.
  Status run(const std::function<Status(int64_t rank)> &work);

private:
  explicit RankTeam(RankRange ranks) : ranks(ranks), results(ranks.size()) {}
  void serve(int64_t rank);

  RankRange ranks;
  std::mutex mutex;
  std::condition_variable begin, end;
  const std::function<Status(int64_t)> *work = nullptr;
  uint64_t generation = 0;
  int64_t unfinished = 0;
  bool stopping = false;
  std::vector<Status> results;
  std::vector<std::thread> threads;
};

} // namespace meshwright::runtime

#endif
