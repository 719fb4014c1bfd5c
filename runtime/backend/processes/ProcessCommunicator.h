//===- ProcessCommunicator.h - the collectives of this process ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PROCESSCOMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PROCESSCOMMUNICATOR_H

#include "PlanRunner.h"
#include "meshwright/runtime/WorkQueue.h"
#include <map>

namespace meshwright::runtime::processes {

/// A process has one rank. What is executed runs on the rank's own thread, what is started on that of a queue.
class ProcessCommunicator : public Communicator {
public:
  ProcessCommunicator(Post &post, int64_t rank, uint64_t world, bool checkAlways)
      : post(post), postBehind(post.getTransport(), post.getLifeline(), 2), rank(rank), world(world),
        checkAlways(checkAlways),
        queue(mutex, [this](uint32_t number) { return run(*collectives[number], postBehind); }) {}
  Result<uint32_t> prepare(CollectiveCall call) override;
  Status connect() override;
  Status execute(uint32_t number) override;
  Status start(uint32_t number) override;
  Status wait(uint32_t number) override { return queue.wait(number); }
  void finishStep(const Status &status) override;
  double getCpuSeconds(uint32_t number) const override { return collectives[number]->cpuSeconds; }
  void setTrace(std::vector<TimeRange> *times) override { trace = times; }
  void setProfiling(bool on) { profiling = on; }

private:
  struct Prepared {
    Prepared(CollectiveCall call, int64_t rank, const Transport &transport, uint64_t world)
        : runner(std::move(call), rank, transport, world) {}
    PlanRunner runner;
    /// The first that brings the same to the same group. Members may have prepared a collective for different numbers
    /// of places, but what it is they use for the first time together.
    Prepared *same = this;
    bool isChecked = false;
    double cpuSeconds = 0;
  };
  Status run(Prepared &prepared, Post &post);

  Post &post;
  /// Used by the communication thread.
  Post postBehind;
  int64_t rank;
  uint64_t world;
  bool checkAlways, profiling = false;
  std::vector<std::unique_ptr<Prepared>> collectives;
  std::map<std::pair<std::vector<int64_t>, uint64_t>, Prepared *> firstOfKind;
  std::unique_ptr<std::byte[]> scratch;
  std::vector<TimeRange> *trace = nullptr;

  std::mutex mutex;
  WorkQueue queue;
};

} // namespace meshwright::runtime::processes

#endif
