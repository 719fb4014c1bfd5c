//===- Trace.cpp - the calls of the stub ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stub.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>

using namespace meshwright::stub;

namespace {

std::vector<int> listDevices(int count) {
  std::vector<int> devices;
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  for (int device = 0; device != count && !visible; ++device)
    devices.push_back(device);
  std::istringstream list(visible ? visible : "");
  for (std::string device; std::getline(list, device, ',');)
    devices.push_back(std::atoi(device.c_str()));
  return devices;
}

struct State {
  State() { reset(); }

  void reset() {
    std::lock_guard held(mutex);
    const char *path = std::getenv("MESHWRIGHT_STUB_TRACE");
    const char *chosen = std::getenv("MESHWRIGHT_STUB_FAIL");
    const char *count = std::getenv("MESHWRIGHT_STUB_DEVICES");
    trace.reset(path ? std::fopen(path, "w") : nullptr);
    std::string text = chosen ? chosen : "";
    size_t colon = text.find(':');
    failing = text.substr(0, colon);
    failingCall = colon == std::string::npos ? 1 : std::strtoull(text.c_str() + colon + 1, nullptr, 10);
    devices = listDevices(count ? std::atoi(count) : 8);
    isAnyMemoryTaken = std::getenv("MESHWRIGHT_STUB_ANY_MEMORY") != nullptr;
    calls.clear();
    lines = 0;
  }

  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::mutex mutex;
  std::unique_ptr<std::FILE, Close> trace;
  std::string failing;
  uint64_t failingCall = 0;
  /// Those that the process sees.
  std::vector<int> devices;
  bool isAnyMemoryTaken = false;
  std::map<std::string, uint64_t> calls;
  uint64_t lines = 0;
};

State &getState() {
  static State state;
  return state;
}

std::atomic<uint64_t> numLive = 0, numThreads = 0, numIds = 0;

uint64_t getThread() {
  thread_local uint64_t number = ++numThreads;
  return number;
}

} // namespace

Call::Call(const char *function) : line(function) {
  State &state = getState();
  std::lock_guard held(state.mutex);
  uint64_t count = ++state.calls[function];
  isChosen = state.failing == function && state.failingCall == count;
}

Call::~Call() {
  State &state = getState();
  std::lock_guard held(state.mutex);
  if (!state.trace)
    return;
  std::fprintf(state.trace.get(), "%llu %llu %s%s\n", static_cast<unsigned long long>(state.lines++),
               static_cast<unsigned long long>(getThread()), line.c_str(), isChosen ? " failed=1" : "");
  std::fflush(state.trace.get());
}

Call &Call::note(const char *key, uint64_t value) { return note(key, std::to_string(value)); }
Call &Call::note(const char *key, const std::string &value) {
  line += std::string(" ") + key + "=" + value;
  return *this;
}

int meshwright::stub::getNumDevices() { return static_cast<int>(getState().devices.size()); }
int meshwright::stub::getPhysicalDevice(int ordinal) { return getState().devices[ordinal]; }
bool meshwright::stub::isAnyMemoryTaken() { return getState().isAnyMemoryTaken; }
uint64_t meshwright::stub::makeId() { return ++numIds; }

Live::Live() { ++numLive; }
Live::~Live() { --numLive; }

/// Looks at the environment again and begins a new trace.
MW_STUB_EXPORT void mw_stub_reset(void) { getState().reset(); }
/// The number of live objects and allocations.
MW_STUB_EXPORT uint64_t mw_stub_count_live(void) { return numLive; }
