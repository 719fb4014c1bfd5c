//===- Executor.h - one rank's program, ready to run ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTOR_H
#define MESHWRIGHT_RUNTIME_EXECUTOR_H

#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/Device.h"
#include "meshwright/runtime/Package.h"
#include <atomic>

namespace meshwright::runtime {

class RankFlight;

/// The environment of an executor. All its objects outlive the executor.
struct ExecutorContext {
  const LoadedPackage &package;
  const Program &program;
  const Mesh &mesh;
  Device &device;
  Communicator &communicator;
  int64_t rank;
  /// Records the instructions of the rank; null for no record.
  RankFlight *flight = nullptr;
  /// The device in whose arenas the program runs; null where it gets its own.
  const Device *owner = nullptr;
  /// Counts the allocations of the calling thread so far; null for no count.
  uint64_t (*countAllocations)() = nullptr;
  /// Ends a step before its next instruction while it is true; null where steps run to their end.
  const std::atomic<bool> *isInterrupted = nullptr;
};

/// The cost of a step, on one rank or on all: time, and counts of events that a step should avoid.
struct StepCosts {
  /// By the clock of the device that took longest, or else of the host, for all ranks of a process.
  double seconds = 0;
  /// Allocations by the runtime and its backends, and by libraries for their own bookkeeping.
  uint64_t allocations = 0, libraryAllocations = 0;
  /// The number of times that hosts waited for the end of all work of their devices since the step before was issued.
  uint64_t hostSyncs = 0;

  /// With those of another rank.
  void add(const StepCosts &other);
};

/// A step of a rank as it went.
struct RankTrace {
  /// An instruction: its item of the schedule, its number in the task, and the time that a thread of the rank spent on
  /// it. So many threads were at work then, and this was done by number `thread` of them.
  struct Entry {
    uint32_t item = 0, number = 0;
    uint32_t thread = 0, numThreads = 1;
    TimeRange time = {};
  };
  std::vector<Entry> entries;
  /// When the collectives took place, in the order of issue, and the copies between the memories; those of which it is
  /// not known are left out, all of them.
  std::vector<TimeRange> collectives, copies;
};

/// One rank: its program as a list of what its device and its communicator are asked for. Made and used on the rank's
/// thread.
class Executor {
public:
  /// Allocates the arenas, loads constants and prepares every instruction; after it, steps allocate nothing.
  static Result<std::unique_ptr<Executor>> create(const ExecutorContext &context);
  ~Executor();

  /// Lets every step from now on keep the scalars in these buffers, of which those numbered -1 are none. Returns where,
  /// as `Device::prepareReadings` does.
  Result<std::span<std::byte>> prepareReadings(std::span<const int32_t> buffers);
  /// Waits for the step whose readings are in that place, and returns what it cost. From any thread.
  Result<StepCosts> finishReadings(uint32_t place);

  /// Runs the step at that position of an accumulation once; a GPU may still be at it on return. Its readings, if there
  /// are any, go to a place. Errors name the rank.
  Status runStep(uint32_t position, uint32_t place);
  /// Runs it once and measures, in seconds of CPU time, what each instruction costs in the order of the step:
  /// collectives and copies by what they cost this rank, wherever they run; an instruction of a loop that threads share
  /// costs the rank its thread's time, divided by the number of threads. The communicator's backend profiles.
  Status runProfiledStep(uint32_t position, std::vector<double> &seconds);
  /// Runs it once and notes in `trace`, which is empty, when each instruction began and ended, on a GPU by its clock.
  Status runTracedStep(uint32_t position, uint32_t place, RankTrace &trace);
  /// Writes the constants again, where another program has run in the same arena.
  Status restore();

  /// The array of a buffer; the host may access it if the device is addressable.
  std::span<std::byte> getBuffer(int32_t index) const;
  bool isAddressable() const;
  /// Copies the array of a buffer from the host or to it, on any device; the spans have its size. Between steps, from
  /// any thread.
  Status write(int32_t index, std::span<const std::byte> from);
  Status read(int32_t index, std::span<std::byte> to) const;
  uint64_t getArenaBytes() const;
  uint64_t getPersistentBytes() const;
  /// The arena in the memory of the host.
  uint64_t getHostArenaBytes() const;
  /// Scratch memory of libraries.
  uint64_t getScratchBytes() const;
  /// Waits until the device has done all that it was asked for.
  Status synchronize() const;
  std::vector<std::string> getWarnings() const;
  /// The best rates of the device, measured between steps.
  Result<std::optional<DeviceRates>> measureRates(std::span<const DType> types);
  /// The seconds that a kernel, product, convolution or copy of the program takes when nothing but it runs, again and
  /// again in the same place: the best of several runs, divided by the number of threads that share its loop. What it
  /// writes is restored. Nothing if a product before it does its work. Between steps.
  Result<std::optional<double>> measureAlone(const Instruction &instruction);

private:
  struct Implementation;
  explicit Executor(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::runtime

#endif
