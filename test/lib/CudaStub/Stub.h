//===- Stub.h - an emulation of the CUDA driver -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for the driver, cuBLASLt and NCCL where there is no GPU: memory is the host's, streams are threads, kernels
// are compiled for the host. It is as asynchronous as the real ones: nothing is done before its turn in its stream, and
// only calls that ask for it wait.
//
// Every call is recorded, and the k-th call of any function can be made to fail:
//
//   MESHWRIGHT_STUB_TRACE=FILE            a line per call: number, thread, function, key=value ...
//   MESHWRIGHT_STUB_FAIL=cuMemAlloc:2     the second call of cuMemAlloc fails
//   MESHWRIGHT_STUB_DEVICES=N             how many GPUs there are (8)
//   CUDA_VISIBLE_DEVICES=I,J              which of them the process sees, as with the real ones (all)
//   MESHWRIGHT_STUB_ANY_MEMORY=1          copies may use memory that the stub did not give
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_CUDASTUB_STUB_H
#define MESHWRIGHT_TEST_LIB_CUDASTUB_STUB_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#define MW_STUB_EXPORT extern "C" __attribute__((visibility("default")))

namespace meshwright::stub {

/// A call while it takes place. Its line is written when it ends.
class Call {
public:
  explicit Call(const char *function);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// True if this call was chosen to fail.
  bool fails() const { return isChosen; }
  Call &note(const char *key, uint64_t value);
  Call &note(const char *key, const std::string &value);
  Call &note(const char *key, const void *address) { return note(key, reinterpret_cast<uint64_t>(address)); }

private:
  std::string line;
  bool isChosen;
};

/// The number of GPUs that the process sees, and the GPU of the machine that each of them stands for.
int getNumDevices();
int getPhysicalDevice(int ordinal);
bool isAnyMemoryTaken();

/// Counts what was made and not destroyed.
class Live {
public:
  Live();
  ~Live();
  Live(const Live &) : Live() {}
  Live &operator=(const Live &) { return *this; }
};

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

class Stream;
class Graph;

/// For each stream, the number of its operations that precede something, during a capture.
using Clock = std::map<const Stream *, uint64_t>;

/// A place in a stream that others wait for. As with the real ones, what waits for it may go on to do so when the event
/// itself has been destroyed.
class Event {
public:
  Event(uint64_t id, bool measuresNothing) : id(id), measuresNothing(measuresNothing) {}
  const uint64_t id;
  const bool measuresNothing;

private:
  friend class Stream;
  struct State {
    std::mutex mutex;
    std::condition_variable done;
    /// The number of times that it was recorded, the number of these that its stream has reached, and the time of the
    /// last one.
    uint64_t recorded = 0, reached = 0;
    std::chrono::steady_clock::time_point time;
    /// The graph into which it was recorded last, if one is being captured, and what comes before it there.
    Graph *graph = nullptr;
    Clock before;
  };
  Live live;
  std::shared_ptr<State> state = std::make_shared<State>();
};

/// Work in the order in which it is to be issued again.
class Graph {
public:
  std::vector<std::function<void()>> issues;
  std::vector<Stream *> streams;
  Stream *origin = nullptr;

private:
  Live live;
};

enum class StreamStatus { Ok, Capturing, NotCapturing, Isolated, Unjoined };

/// Work that is done one after the other, on a thread.
class Stream {
public:
  Stream(uint64_t id, int device);
  ~Stream();
  const uint64_t id;
  const int device;

  void push(std::function<void()> work);
  StreamStatus record(Event &event);
  StreamStatus waitFor(Event &event);
  StreamStatus synchronize();
  bool isIdle();
  static StreamStatus synchronize(Event &event);
  /// True if the work before an event is done; nothing for an event that is being captured.
  static std::optional<bool> isOver(Event &event);
  /// When; of an event that is over.
  static std::chrono::steady_clock::time_point getTime(Event &event);

  StreamStatus beginCapture();
  StreamStatus endCapture(std::unique_ptr<Graph> &graph);

private:
  void pushNow(std::function<void()> work);
  void recordNow(const std::shared_ptr<Event::State> &event);
  void waitNow(const std::shared_ptr<Event::State> &event);
  void addToGraph(std::function<void()> issue);
  void serve();

  Live live;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool isBusy = false, isStopping = false;
  std::thread thread;
  /// While it is captured.
  Graph *graph = nullptr;
  Clock before;
};

/// A number that no other stream or event has.
uint64_t makeId();
/// The stream of a driver's handle.
Stream &getStream(void *handle);

} // namespace meshwright::stub

#endif
