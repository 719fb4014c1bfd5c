//===- Executor.cpp - one rank's program, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates the arenas of one rank, compiles its program and issues its steps: a step is replayed if the device has a
// recording of its variant, and is issued instruction by instruction otherwise. The threads of the rank issue their
// parts of the loops that they share. The costs of each step are kept beside its readings, because a device may still
// execute a step when the next one is issued.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Executor.h"
#include "CompiledProgram.h"
#include "ScopeRanges.h"
#include "meshwright/runtime/FlightRecorder.h"
#include "meshwright/runtime/Slots.h"
#include "meshwright/runtime/ThreadTime.h"
#include <algorithm>
#include <array>
#include <utility>

using namespace meshwright;
using namespace meshwright::runtime;

void StepCosts::add(const StepCosts &other) {
  seconds = std::max(seconds, other.seconds);
  allocations += other.allocations;
  libraryAllocations += other.libraryAllocations;
  hostSyncs += other.hostSyncs;
}

/// An instruction as in messages: `"y" (model.mlir:88)`.
static std::string describe(const Instruction &instruction) {
  return fmt::format("\"{}\"{}", instruction.name(),
                     instruction.location().empty() ? "" : fmt::format(" ({})", instruction.location()));
}

/// The one who issues instructions, the rank's thread or a thread in a loop, with the device that it asks.
struct Issuer {
  Device *device;
  /// Its number and theirs, among those that are at work.
  uint32_t thread = 0, numThreads = 1;
  /// Allocations in the step that is being issued: all of them, counted in loops alone, and by libraries.
  uint64_t allocations = 0, libraryAllocations = 0;
  Status status = {};
};

struct Executor::Implementation {
  using Kind = CompiledInstruction::Kind;

  explicit Implementation(const ExecutorContext &context)
      : context(context), device(context.device), compiled(this->context), ranges(device, context.program) {}

  ExecutorContext context;
  Device &device;
  /// The prefix of errors.
  std::string rank = fmt::format("rank {}", context.rank);
  /// By the place of the step's readings.
  std::array<StepCosts, 2> costs;
  /// The rank's thread, and the threads in loops, the first of which is the rank's.
  Issuer rankIssuer{&device};
  std::vector<Issuer> loopIssuers;
  /// The device's count of host syncs when the last step was issued.
  uint64_t hostSyncs = 0;
  bool hasReadings = false;
  CompiledProgram compiled;
  ScopeRanges ranges;

  Status loadConstants() {
    for (const Constant &constant : context.program.constants()) {
      uint64_t bytes = getArrayBytes(context.program.buffers(static_cast<int>(constant.buffer())));
      MW_TRY(device.write(compiled.getAddress(constant.buffer()),
                          context.package.getConstants().subspan(bytes == 0 ? 0 : constant.file_offset(), bytes)));
    }
    return {};
  }

  Status prepare() {
    if (context.flight)
      context.flight->setProgram(context.program);
    const Program &program = context.program;
    MW_TRY(context.owner ? device.share(*context.owner, getFedBytes())
                         : device.allocate(program.arena_bytes(), program.host_arena_bytes(), getFedBytes()));
    MW_TRY(loadConstants());
    MW_TRY(compiled.compile());
    for (const std::unique_ptr<Device> &of : compiled.getThreadDevices()) {
      MW_TRY(of->finishPreparation());
      loopIssuers.push_back({of.get(), static_cast<uint32_t>(loopIssuers.size()),
                             static_cast<uint32_t>(compiled.getThreadDevices().size())});
    }
    return device.finishPreparation();
  }

  /// The bytes of a step's inputs, each of which starts at a multiple of 64.
  uint64_t getFedBytes() const {
    uint64_t bytes = 0;
    for (int32_t buffer : context.program.input_buffers())
      if (buffer != -1)
        bytes += (getArrayBytes(context.program.buffers(buffer)) + 63) / 64 * 64;
    return bytes;
  }

  uint64_t countAllocations() const { return context.countAllocations ? context.countAllocations() : 0; }

  Status runStep(uint32_t position, uint32_t place) {
    return measure(place, [&] { return fly(position, [&] { return issueStep(position); }); });
  }

  /// A step that is read and whose costs are noted.
  template <typename Fn> Status measure(uint32_t place, Fn &&run) {
    forEachIssuer([](Issuer &issuer) { issuer.allocations = issuer.libraryAllocations = 0; });
    uint64_t before = countAllocations();
    if (hasReadings)
      MW_TRY(device.beginReadings(place).within(rank));
    MW_TRY(run());
    if (hasReadings)
      MW_TRY(device.takeReadings(place).within(rank));
    StepCosts &cost = costs[place];
    cost.allocations = countAllocations() - before;
    cost.libraryAllocations = 0;
    forEachIssuer([&](const Issuer &issuer) {
      // The count of the rank's thread has those of the first part of loops.
      cost.allocations += issuer.thread == 0 ? 0 : issuer.allocations;
      cost.libraryAllocations += issuer.libraryAllocations;
    });
    cost.allocations -= cost.libraryAllocations;
    cost.hostSyncs = device.getHostSyncs() - std::exchange(hostSyncs, device.getHostSyncs());
    return {};
  }

  template <typename Fn> void forEachIssuer(Fn &&fn) {
    fn(rankIssuer);
    std::for_each(loopIssuers.begin(), loopIssuers.end(), fn);
  }

  Result<std::span<std::byte>> prepareReadings(std::span<const int32_t> buffers) {
    std::vector<std::span<const std::byte>> scalars;
    for (int32_t buffer : buffers) {
      std::span<const std::byte> &scalar = scalars.emplace_back();
      if (buffer != -1)
        scalar = {compiled.getAddress(static_cast<uint32_t>(buffer)), getArrayBytes(context.program.buffers(buffer))};
    }
    MW_TRY_ASSIGN(std::span<std::byte> places, device.prepareReadings(scalars));
    hasReadings = true;
    return places;
  }

  /// A step that is on record: issued, and finished on the device.
  template <typename Fn> Status fly(uint32_t position, Fn &&issue) {
    if (context.flight)
      context.flight->beginStep(position);
    Status status = issue();
    Status finished = device.finishStep().within(rank);
    if (context.flight && status.ok() && finished.ok())
      context.flight->endStep();
    return status.ok() ? finished : status;
  }

  /// From the recording where the device has one of the step.
  Status issueStep(uint32_t position) {
    size_t variant = context.package.getVariant(position);
    auto replayed = device.replay(variant);
    MW_TRY(replayed.status().within(rank));
    if (*replayed)
      return {};
    MW_TRY(run(position));
    Status issued;
    auto issue = [&] { return issued = run(position); };
    // As a reference, which takes no memory.
    Status recorded = device.record(variant, std::ref(issue));
    return issued.ok() ? recorded.within(rank) : issued;
  }

  /// Calls perform(item, instruction, issuer) for what a step runs, in its order; in loops that threads share, each of
  /// them does for its part.
  template <typename Fn> Status walk(uint32_t position, Fn &&perform) {
    for (const CompiledItem &item : compiled.getItems()) {
      if (!item.runsAt(position))
        continue;
      uint32_t done = 0;
      for (const ParallelLoop &loop : item.task->loops) {
        MW_TRY(walkRange(item, done, loop.getBegin(), perform));
        MW_TRY(walkLoop(item, loop, perform));
        done = loop.getEnd();
      }
      MW_TRY(walkRange(item, done, static_cast<uint32_t>(item.task->instructions.size()), perform));
    }
    ranges.leave();
    return {};
  }

  /// Instructions that the rank's thread issues.
  template <typename Fn> Status walkRange(const CompiledItem &item, uint32_t begin, uint32_t end, Fn &&perform) {
    for (uint32_t i = begin; i != end; ++i) {
      const CompiledInstruction &instruction = item.task->instructions[i];
      enter(item, instruction);
      MW_TRY(issue(item, instruction, rankIssuer, perform));
    }
    return {};
  }

  template <typename Fn> Status walkLoop(const CompiledItem &item, const ParallelLoop &loop, Fn &&perform) {
    enter(item, item.task->instructions[loop.getBegin()]);
    auto work = [&](int thread) {
      Issuer &issuer = loopIssuers[static_cast<size_t>(thread)];
      uint64_t before = countAllocations();
      issuer.status = {};
      for (uint32_t i = loop.parts[issuer.thread]; i != loop.parts[issuer.thread + 1] && issuer.status.ok(); ++i)
        issuer.status = issue(item, item.task->instructions[i], issuer, perform);
      issuer.allocations += countAllocations() - before;
    };
    // As a reference, which takes no memory.
    device.runOnThreads(std::ref(work));
    for (Issuer &issuer : loopIssuers)
      MW_TRY(std::exchange(issuer.status, {}));
    return {};
  }

  template <typename Fn>
  Status issue(const CompiledItem &item, const CompiledInstruction &instruction, Issuer &issuer, Fn &&perform) {
    if (context.isInterrupted && context.isInterrupted->load(std::memory_order_relaxed))
      return locate(faultError("the step was interrupted"), item, instruction);
    Status status = perform(item, instruction, issuer);
    return status.ok() ? status : locate(status, item, instruction);
  }

  Status run(uint32_t position) {
    return walk(position, [&](const CompiledItem &item, const CompiledInstruction &instruction, Issuer &issuer) {
      return execute(instruction, item.microBatch, issuer);
    });
  }

  Status runTraced(uint32_t position, uint32_t place, RankTrace &trace) {
    context.communicator.setTrace(&trace.collectives);
    Status begun;
    forEachIssuer([&](Issuer &issuer) { begun = begun.ok() ? issuer.device->beginTrace().within(rank) : begun; });
    MW_TRY(begun);
    MW_TRY(measure(place, [&] { return fly(position, [&] { return walkMarked(position, trace); }); }));
    return placeMarks(trace);
  }

  /// The number of each item's first instruction among those of a step at `position`, then that of all.
  std::vector<size_t> countInstructions(uint32_t position) const {
    std::vector<size_t> before = {0};
    for (const CompiledItem &item : compiled.getItems())
      before.push_back(before.back() + (item.runsAt(position) ? item.task->instructions.size() : 0));
    return before;
  }

  Status walkMarked(uint32_t position, RankTrace &trace) {
    std::vector<size_t> before = countInstructions(position);
    trace.entries.resize(before.back());
    return walk(position,
                [&](const CompiledItem &item, const CompiledInstruction &instruction, Issuer &issuer) -> Status {
                  uint32_t ofItem = getNumber(item), number = getNumber(item, instruction);
                  trace.entries[before[ofItem] + number] = {ofItem, number, issuer.thread, issuer.numThreads};
                  MW_TRY(issuer.device->mark());
                  MW_TRY(execute(instruction, item.microBatch, issuer));
                  return issuer.device->mark();
                });
  }

  /// Ends the trace: each issuer has marked the begin and the end of its entries, in their order.
  Status placeMarks(RankTrace &trace) {
    auto ofRank = device.endTrace();
    MW_TRY(ofRank.status().within(rank));
    std::vector<std::vector<int64_t>> ofThreads;
    for (Issuer &issuer : loopIssuers) {
      auto known = issuer.device->endTrace();
      MW_TRY(known.status().within(rank));
      ofThreads.push_back(std::move(known->marks));
    }
    std::vector<size_t> next(ofThreads.size());
    size_t nextOfRank = 0;
    for (RankTrace::Entry &entry : trace.entries) {
      bool isOfLoop = entry.numThreads > 1;
      const std::vector<int64_t> &marks = isOfLoop ? ofThreads[entry.thread] : ofRank->marks;
      size_t &at = isOfLoop ? next[entry.thread] : nextOfRank;
      entry.time = {marks[at], marks[at + 1]};
      at += 2;
    }
    trace.copies = std::move(ofRank->copies);
    return {};
  }

  uint32_t getNumber(const CompiledItem &item) const {
    return static_cast<uint32_t>(&item - compiled.getItems().data());
  }
  static uint32_t getNumber(const CompiledItem &item, const CompiledInstruction &instruction) {
    return static_cast<uint32_t>(&instruction - item.task->instructions.data());
  }
  static const Instruction &getSource(const CompiledItem &item, const CompiledInstruction &instruction) {
    return item.source->instructions(static_cast<int>(getNumber(item, instruction)));
  }

  /// Items of the compiled program and of its schedule, instructions of a compiled task and of the task are the same.
  void enter(const CompiledItem &item, const CompiledInstruction &instruction) {
    if (context.flight)
      context.flight->beginInstruction(getNumber(item), getNumber(item, instruction));
    ranges.enter(*item.source, getSource(item, instruction));
  }

  /// Says which rank and instruction an error is of; communicators do that themselves.
  Status locate(const Status &status, const CompiledItem &item, const CompiledInstruction &instruction) const {
    if (instruction.kind == Kind::Collective || instruction.kind == Kind::Start || instruction.kind == Kind::Wait)
      return status;
    return status.within(fmt::format("rank {}: {}", context.rank, describe(getSource(item, instruction))));
  }

  Status runProfiled(uint32_t position, std::vector<double> &seconds) {
    device.setProfiling(true);
    Status status = profile(position, seconds);
    Status finished = device.finishStep();
    device.setProfiling(false);
    return status.ok() ? finished : status;
  }

  Status profile(uint32_t position, std::vector<double> &seconds) {
    std::vector<size_t> before = countInstructions(position);
    seconds.assign(before.back(), 0);
    std::vector<std::pair<size_t, uint32_t>> collectives, copies;
    MW_TRY(
        walk(position, [&](const CompiledItem &item, const CompiledInstruction &instruction, Issuer &issuer) -> Status {
          size_t number = before[getNumber(item)] + getNumber(item, instruction);
          double begun = getThreadSeconds();
          MW_TRY(execute(instruction, item.microBatch, issuer));
          seconds[number] = (getThreadSeconds() - begun) / issuer.numThreads;
          // There are none of these in loops.
          if (instruction.kind == Kind::Collective || instruction.kind == Kind::Start)
            collectives.push_back({number, instruction.number});
          if (instruction.kind == Kind::HostCopy || instruction.kind == Kind::HostStart)
            copies.push_back({number, instruction.number});
          return {};
        }));
    for (auto [index, number] : collectives)
      seconds[index] = context.communicator.getCpuSeconds(number);
    for (auto [index, number] : copies)
      seconds[index] = device.getCopySeconds(number);
    return {};
  }

  Result<std::optional<double>> measureAlone(const Instruction &source) {
    for (const CompiledItem &item : compiled.getItems())
      for (const CompiledInstruction &instruction : item.task->instructions)
        if (&getSource(item, instruction) == &source)
          return measureAlone(item, instruction);
    return std::optional<double>();
  }

  Result<std::optional<double>> measureAlone(const CompiledItem &item, const CompiledInstruction &instruction) {
    constexpr int numRuns = 5;
    if (instruction.kind == Kind::Done)
      return std::optional<double>();
    Issuer &issuer = findIssuer(item, instruction);
    // A thread that shares loops writes into its own copies, or where the outputs of iterations are.
    std::vector<std::pair<uint32_t, std::vector<std::byte>>> written;
    Status status;
    forEachAccess(getSource(item, instruction), [&](uint32_t buffer, bool isWrite) {
      if (!isWrite || !status.ok())
        return;
      uint64_t size = getExtent(context.program.buffers(static_cast<int>(buffer)));
      auto &[number, bytes] = written.emplace_back(buffer, size);
      status = device.read(bytes, compiled.getAddress(number));
    });
    MW_TRY(status);
    MW_TRY(issuer.device->beginTrace());
    for (int run = 0; run <= numRuns; ++run) {
      MW_TRY(issuer.device->mark());
      MW_TRY(execute(instruction, item.microBatch, issuer));
    }
    MW_TRY(issuer.device->mark());
    MW_TRY_ASSIGN(DeviceTrace trace, issuer.device->endTrace());
    for (const auto &[buffer, bytes] : written)
      MW_TRY(device.write(compiled.getAddress(buffer), bytes));
    int64_t best = INT64_MAX;
    // The first run warms up.
    for (size_t run = 1; run + 1 < trace.marks.size(); ++run)
      best = std::min(best, trace.marks[run + 1] - trace.marks[run]);
    return std::optional(static_cast<double>(std::max<int64_t>(best, 1)) * 1e-9 / issuer.numThreads);
  }

  Issuer &findIssuer(const CompiledItem &item, const CompiledInstruction &instruction) {
    uint32_t number = getNumber(item, instruction);
    for (const ParallelLoop &loop : item.task->loops)
      for (Issuer &issuer : loopIssuers)
        if (loop.parts[issuer.thread] <= number && number < loop.parts[issuer.thread + 1])
          return issuer;
    return rankIssuer;
  }

  Status execute(const CompiledInstruction &instruction, uint32_t microBatch, Issuer &issuer) {
    Device &device = *issuer.device;
    switch (instruction.kind) {
    case Kind::Done:
      return {};
    case Kind::Kernel:
      return device.launch(instruction.number);
    case Kind::Matmul: {
      uint64_t before = countAllocations();
      Status status = device.multiply(instruction.number);
      issuer.libraryAllocations += countAllocations() - before;
      return status;
    }
    case Kind::Convolution: {
      uint64_t before = countAllocations();
      Status status = device.convolve(instruction.number);
      issuer.libraryAllocations += countAllocations() - before;
      return status;
    }
    case Kind::Collective:
      return context.communicator.execute(instruction.number);
    case Kind::Start:
      if (instruction.started)
        instruction.started[instruction.isOnce ? 0 : microBatch] = instruction.number;
      return context.communicator.start(instruction.number);
    case Kind::Wait:
      return context.communicator.wait(instruction.started ? instruction.started[instruction.isOnce ? 0 : microBatch]
                                                           : instruction.number);
    case Kind::Copy:
    case Kind::HostCopy:
      return device.copy(instruction.number);
    case Kind::HostStart:
      return device.startCopy(instruction.number);
    case Kind::HostWait:
      return device.waitCopy(instruction.number);
    case Kind::Coordinate:
      return device.store(instruction.to, static_cast<int32_t>(instruction.number));
    case Kind::MicroBatch:
      return device.store(instruction.to, static_cast<int32_t>(microBatch));
    }
    return {};
  }
};

Executor::Executor(std::unique_ptr<Implementation> implementation) : implementation(std::move(implementation)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(const ExecutorContext &context) {
  auto implementation = std::make_unique<Implementation>(context);
  MW_TRY(implementation->prepare().within(fmt::format("rank {}", context.rank)));
  return std::unique_ptr<Executor>(new Executor(std::move(implementation)));
}

Result<std::span<std::byte>> Executor::prepareReadings(std::span<const int32_t> buffers) {
  auto places = implementation->prepareReadings(buffers);
  return places.ok() ? places : places.status().within(implementation->rank);
}
Result<StepCosts> Executor::finishReadings(uint32_t place) {
  auto seconds = implementation->device.finishReadings(place);
  MW_TRY(seconds.status().within(implementation->rank));
  StepCosts costs = implementation->costs[place];
  costs.seconds = *seconds;
  return costs;
}

Status Executor::runStep(uint32_t position, uint32_t place) { return implementation->runStep(position, place); }
Status Executor::runProfiledStep(uint32_t position, std::vector<double> &seconds) {
  return implementation->runProfiled(position, seconds);
}
Status Executor::runTracedStep(uint32_t position, uint32_t place, RankTrace &trace) {
  return implementation->runTraced(position, place, trace);
}
Status Executor::restore() {
  return implementation->loadConstants().within(fmt::format("rank {}", implementation->context.rank));
}

std::span<std::byte> Executor::getBuffer(int32_t index) const {
  return {implementation->compiled.getAddress(static_cast<uint32_t>(index)),
          getArrayBytes(implementation->context.program.buffers(index))};
}

Status Executor::write(int32_t index, std::span<const std::byte> from) {
  assert(from.size() == getBuffer(index).size() && "whole arrays are written");
  return implementation->device.write(getBuffer(index).data(), from)
      .within(fmt::format("rank {}", implementation->context.rank));
}
Status Executor::read(int32_t index, std::span<std::byte> to) const {
  assert(to.size() == getBuffer(index).size() && "whole arrays are read");
  return implementation->device.read(to, getBuffer(index).data())
      .within(fmt::format("rank {}", implementation->context.rank));
}
bool Executor::isAddressable() const { return implementation->device.isAddressable(); }

uint64_t Executor::getArenaBytes() const { return implementation->context.program.arena_bytes(); }
uint64_t Executor::getPersistentBytes() const { return implementation->context.program.persistent_bytes(); }
uint64_t Executor::getHostArenaBytes() const { return implementation->context.program.host_arena_bytes(); }
uint64_t Executor::getScratchBytes() const {
  uint64_t bytes = 0;
  implementation->forEachIssuer([&](const Issuer &issuer) { bytes += issuer.device->getScratchBytes(); });
  return bytes + implementation->compiled.getPrivateBytes();
}
Status Executor::synchronize() const {
  return implementation->device.synchronize().within(fmt::format("rank {}", implementation->context.rank));
}
std::vector<std::string> Executor::getWarnings() const {
  std::vector<std::string> warnings;
  implementation->forEachIssuer([&](const Issuer &issuer) {
    for (std::string &warning : issuer.device->getWarnings())
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
        warnings.push_back(std::move(warning));
  });
  return warnings;
}
Result<std::optional<DeviceRates>> Executor::measureRates(std::span<const DType> types) {
  return implementation->device.measureRates(types);
}
Result<std::optional<double>> Executor::measureAlone(const Instruction &instruction) {
  auto seconds = implementation->measureAlone(instruction);
  return seconds.ok() ? seconds : seconds.status().within(implementation->rank);
}
