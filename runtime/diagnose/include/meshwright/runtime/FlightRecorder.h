//===- FlightRecorder.h - what the ranks did last ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank notes what it does in a ring of its own, all the time: a few stores per instruction, and nothing is
// allocated. Where a run fails, the rings say where each rank was, and what it would have done next.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_FLIGHTRECORDER_H
#define MESHWRIGHT_RUNTIME_FLIGHTRECORDER_H

#include "meshwright/runtime/World.h"
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>

namespace meshwright::runtime {

/// The last actions of one rank. Written by the rank's thread; other threads may read it at any time and miss at most
/// what is being written.
class RankFlight {
public:
  enum class Kind : uint8_t { Step, Instruction, Issue, Start, Wait, Over, Failed, End };
  struct Event {
    Kind kind = Kind::Step;
    int64_t nanoseconds = 0; ///< of the steady clock
    uint32_t step = 0;       ///< those that the rank had begun before
    uint32_t item = 0;       ///< of Instruction: of the program's schedule
    uint32_t number = 0;     ///< of Instruction: in the item's task; of collectives: as they were prepared
  };
  static constexpr uint64_t capacity = 1024;

  explicit RankFlight(int64_t rank) : rank(rank) {}
  int64_t getRank() const { return rank; }

  // Before the first step.
  void setProgram(const Program &newProgram) { program = &newProgram; }
  void addCollective(uint32_t number, const CollectiveCall &call);

  // In a step.
  void beginStep(uint32_t newPosition) {
    position.store(newPosition, std::memory_order_relaxed);
    note(Kind::Step, 0, 0);
  }
  void beginInstruction(uint32_t item, uint32_t instruction) { note(Kind::Instruction, item, instruction); }
  void noteCollective(Kind kind, uint32_t number) { note(kind, 0, number); }
  void endStep() {
    note(Kind::End, 0, 0);
    ++steps;
  }
  void addWaiting(int64_t nanoseconds) {
    waiting.store(waiting.load(std::memory_order_relaxed) + nanoseconds, std::memory_order_relaxed);
  }

  /// The last events, oldest first.
  std::vector<Event> getEvents() const;
  const Program *getProgram() const { return program; }
  /// Null where there is none of that number.
  const CollectiveCall *findCollective(uint32_t number) const {
    return number < calls.size() ? &calls[number] : nullptr;
  }
  /// The position in the accumulation of the step that it began last.
  uint32_t getPosition() const { return position.load(std::memory_order_relaxed); }
  /// How long it waited in collectives.
  double getWaitingSeconds() const { return static_cast<double>(waiting.load(std::memory_order_relaxed)) * 1e-9; }

private:
  void note(Kind kind, uint32_t item, uint32_t number) {
    uint64_t next = count.load(std::memory_order_relaxed);
    Slot &slot = ring[next % capacity];
    slot.time.store(TimeRange::now(), std::memory_order_relaxed);
    slot.what.store(static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(item & 0xffffff) << 32 | number,
                    std::memory_order_relaxed);
    slot.step.store(steps, std::memory_order_relaxed);
    count.store(next + 1, std::memory_order_release);
  }

  struct Slot {
    std::atomic<int64_t> time;
    std::atomic<uint64_t> what;
    std::atomic<uint32_t> step;
  };
  int64_t rank;
  const Program *program = nullptr;
  std::vector<CollectiveCall> calls;
  uint32_t steps = 0;
  std::atomic<uint32_t> position = 0;
  std::atomic<int64_t> waiting = 0;
  std::atomic<uint64_t> count = 0;
  std::array<Slot, capacity> ring = {};
};

/// Where a rank is, as other processes may hear of it.
struct FlightState {
  int64_t rank = 0;
  uint64_t step = 0;
  /// The collective that it waits in, as in messages, and its members; empty where it waits in none.
  std::string collective;
  std::vector<int64_t> members;
  /// Its present or last instruction: `kernel "h.1.mlp" (model.mlir:70)`.
  std::string doing;
};

/// The collective that some ranks have come to and others have not, as a sentence that says which, and what the others
/// do; empty where no rank waits.
std::string describeDisagreement(const std::vector<FlightState> &states);

/// Adds the states of ranks that other processes write into a folder, waiting for them for some seconds. Files of
/// earlier runs do not count: those that were written before `begin`.
void addFlightStates(const std::string &folder, std::filesystem::file_time_type begin, int64_t numRanks, double seconds,
                     std::vector<FlightState> &states);

/// The rings of the ranks of this process.
class FlightRecorder {
public:
  /// The flight of a rank, made when it is asked for first.
  RankFlight &getRank(int64_t rank);
  /// Steps that a resumed run did before.
  void setFirstStep(uint64_t step) { firstStep = step; }

  /// Notes what goes through the backend's communicators. The recorder outlives it.
  std::unique_ptr<Backend> record(std::unique_ptr<Backend> backend);
  /// Lets `listener` hear of every rank that ends a step with an error, on the rank's thread. Before `record`.
  void setFailureListener(std::function<void(const Status &)> listener) { onFailure = std::move(listener); }

  std::vector<FlightState> getStates() const;
  /// Writes `flight-RANK.json` for every rank of this process into a folder, which is made where it is not there.
  /// Returns how many.
  Result<size_t> write(const std::string &folder, const Status &reason) const;
  /// On the first process a sentence about the rank that the others wait for, where there clearly is one; all call it,
  /// between steps. `seconds` is how long the steps took.
  Result<std::string> findStraggler(World &world, double seconds) const;

private:
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<RankFlight>> flights;
  std::function<void(const Status &)> onFailure;
  uint64_t firstStep = 0;
};

} // namespace meshwright::runtime

#endif
