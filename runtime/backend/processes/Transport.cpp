//===- Transport.cpp - messages between processes -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Transport.h"
#include "meshwright/runtime/Cores.h"
#include <algorithm>
#include <thread>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

Patience::Clock::duration Patience::getPause() {
  using namespace std::chrono_literals;
  // Asking takes about as long as asking for the time.
  if (++calls % 16 != 0 && elapsed < spinTime)
    return {};
  Clock::time_point now = Clock::now();
  if (begin == Clock::time_point())
    begin = now;
  elapsed = now - begin;
  // A thread that yields queues after all others; one that sleeps wakes first. At most an eighth of the time is lost by
  // sleeping too long.
  return elapsed < spinTime ? Clock::duration() : std::clamp<Clock::duration>(elapsed / 8, 5us, 1ms);
}

void Patience::wait() {
  if (Clock::duration pause = getPause(); pause != Clock::duration())
    std::this_thread::sleep_for(pause);
}

void Transport::sleep(Patience::Clock::duration pause) { std::this_thread::sleep_for(pause); }

bool Transport::isCrowded(unsigned threads) const {
  return threads * static_cast<unsigned>(getNumLocal()) > getNumCores();
}

Status Transport::makeMismatch(int64_t ranks, const std::string &command) const {
  std::string processes = getNumProcesses() == 1 ? "is 1 process" : fmt::format("are {} processes", getNumProcesses());
  return usageError("the package is for {} ranks but there {}; {} starts as many as it wants", ranks, processes,
                    command);
}
