//===- RankTeam.cpp - one thread per rank ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/RankTeam.h"
#include "meshwright/runtime/StartThread.h"

using namespace meshwright::runtime;

Result<std::unique_ptr<RankTeam>> RankTeam::create(RankRange ranks) {
  std::unique_ptr<RankTeam> team(new RankTeam(ranks));
  for (int64_t rank = ranks.begin; rank != ranks.end; ++rank) {
    std::thread thread;
    MW_TRY(startThread(thread, fmt::format("for rank {}, one of {}", rank, ranks.size()),
                       [self = team.get(), rank] { self->serve(rank); }));
    team->threads.push_back(std::move(thread));
  }
  return team;
}

RankTeam::~RankTeam() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  begin.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

Status RankTeam::run(const std::function<Status(int64_t)> &newWork) {
  std::unique_lock lock(mutex);
  work = &newWork;
  unfinished = static_cast<int64_t>(threads.size());
  ++generation;
  begin.notify_all();
  end.wait(lock, [&] { return unfinished == 0; });
  for (const Status &result : results)
    if (!result.ok())
      return result;
  return {};
}

void RankTeam::serve(int64_t rank) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex);
  while (true) {
    begin.wait(lock, [&] { return stopping || generation != seen; });
    if (stopping)
      return;
    seen = generation;
    lock.unlock();
    Status result = (*work)(rank);
    lock.lock();
    results[rank - ranks.begin] = std::move(result);
    if (--unfinished == 0)
      end.notify_one();
  }
}
