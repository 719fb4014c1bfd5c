//===- VirtualTime.cpp - time that load does not touch --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VirtualTime.h"
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

using namespace meshwright::test;

static std::atomic<VirtualTime *> current = nullptr;

/// Called by test_sleep if it is present. Returns the milliseconds that it slept, or -1 if time is real.
extern "C" __attribute__((visibility("default"), used)) int mw_virtual_sleep(int milliseconds) {
  VirtualTime *time = current;
  if (!time)
    return -1;
  time->sleep(milliseconds);
  return milliseconds;
}

VirtualTime::VirtualTime() : driver([this] { advance(); }) { current = this; }

VirtualTime::~VirtualTime() {
  current = nullptr;
  {
    std::lock_guard held(mutex);
    isStopping = true;
  }
  driver.join();
}

int64_t VirtualTime::now() {
  std::lock_guard held(mutex);
  return time;
}

void VirtualTime::sleep(int64_t milliseconds) {
  std::unique_lock held(mutex);
  int64_t end = time + milliseconds;
  auto mine = wakeTimes.insert(end);
  changed.wait(held, [&] { return time >= end; });
  wakeTimes.erase(mine);
}

void VirtualTime::advance() {
  driverThread = gettid();
  while (true) {
    bool quiet = isQuiet();
    {
      std::lock_guard held(mutex);
      if (isStopping)
        return;
      // A thread whose time has come and that has not run since is not asleep.
      if (quiet && !wakeTimes.empty() && *wakeTimes.begin() > time) {
        time = *wakeTimes.begin();
        changed.notify_all();
      }
    }
    if (!quiet)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// True if there was a moment at which all other threads were asleep: if every thread is asleep in two successive looks
/// and none has run between them.
bool VirtualTime::isQuiet() {
  Switches before, after;
  return areAsleep(before) && areAsleep(after) && before == after;
}

bool VirtualTime::areAsleep(Switches &switches) {
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    int thread = std::stoi(entry.path().filename());
    if (thread == driverThread)
      continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("State:") && line.find("S (sleeping)") == std::string::npos)
        return false;
      if (line.find("ctxt_switches:") != std::string::npos)
        switches[thread] += std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return !error;
}
