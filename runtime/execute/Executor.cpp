//===- Executor.cpp - one rank's program, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates the arenas of one rank, compiles its program and issues its steps: a step is replayed if the device has a
// recording of its variant, and is issued instruction by instruction otherwise. The costs of each step are kept beside
// its readings, because a device may still execute a step when the next one is issued.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Executor.h"
#include "CompiledProgram.h"
#include "ScopeRanges.h"
#include "meshwright/runtime/FlightRecorder.h"
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
  /// Allocations by libraries in the step that is being issued.
  uint64_t libraryAllocations = 0;
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
    libraryAllocations = 0;
    uint64_t before = countAllocations();
    if (hasReadings)
      MW_TRY(device.beginReadings(place).within(rank));
    MW_TRY(run());
    if (hasReadings)
      MW_TRY(device.takeReadings(place).within(rank));
    StepCosts &cost = costs[place];
    cost.allocations = countAllocations() - before - libraryAllocations;
    cost.libraryAllocations = libraryAllocations;
    cost.hostSyncs = device.getHostSyncs() - std::exchange(hostSyncs, device.getHostSyncs());
    return {};
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

  /// Calls perform(item, instruction) for what a step runs, in its order.
  template <typename Fn> Status walk(uint32_t position, Fn &&perform) {
    for (const CompiledItem &item : compiled.getItems()) {
      if (!item.runsAt(position))
        continue;
      for (const CompiledInstruction &instruction : *item.task) {
        if (context.isInterrupted && context.isInterrupted->load(std::memory_order_relaxed))
          return locate(faultError("the step was interrupted"), item, instruction);
        note(item, instruction);
        ranges.enter(*item.source, getSource(item, instruction));
        if (Status status = perform(item, instruction); !status.ok())
          return locate(status, item, instruction);
      }
    }
    ranges.leave();
    return {};
  }

  Status run(uint32_t position) {
    return walk(position, [&](const CompiledItem &item, const CompiledInstruction &instruction) {
      return execute(instruction, item.microBatch);
    });
  }

  Status runTraced(uint32_t position, uint32_t place, RankTrace &trace) {
    context.communicator.setTrace(&trace.collectives);
    MW_TRY(device.beginTrace().within(rank));
    MW_TRY(measure(place, [&] { return fly(position, [&] { return walkMarked(position, trace); }); }));
    auto known = device.endTrace();
    MW_TRY(known.status().within(rank));
    for (size_t i = 0; i != trace.entries.size(); ++i)
      trace.entries[i].time = {known->marks[2 * i], known->marks[2 * i + 1]};
    trace.copies = std::move(known->copies);
    return {};
  }

  Status walkMarked(uint32_t position, RankTrace &trace) {
    return walk(position, [&](const CompiledItem &item, const CompiledInstruction &instruction) -> Status {
      trace.entries.push_back({getNumber(item), getNumber(item, instruction), {}});
      MW_TRY(device.mark());
      MW_TRY(execute(instruction, item.microBatch));
      return device.mark();
    });
  }

  uint32_t getNumber(const CompiledItem &item) const {
    return static_cast<uint32_t>(&item - compiled.getItems().data());
  }
  static uint32_t getNumber(const CompiledItem &item, const CompiledInstruction &instruction) {
    return static_cast<uint32_t>(&instruction - item.task->data());
  }
  static const Instruction &getSource(const CompiledItem &item, const CompiledInstruction &instruction) {
    return item.source->instructions(static_cast<int>(getNumber(item, instruction)));
  }

  /// Items of the compiled program and of its schedule, instructions of a compiled task and of the task are the same.
  void note(const CompiledItem &item, const CompiledInstruction &instruction) const {
    if (context.flight)
      context.flight->beginInstruction(getNumber(item), getNumber(item, instruction));
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
    seconds.clear();
    std::vector<std::pair<size_t, uint32_t>> collectives, copies;
    MW_TRY(walk(position, [&](const CompiledItem &item, const CompiledInstruction &instruction) -> Status {
      double before = getThreadSeconds();
      MW_TRY(execute(instruction, item.microBatch));
      if (instruction.kind == Kind::Collective || instruction.kind == Kind::Start)
        collectives.push_back({seconds.size(), instruction.number});
      if (instruction.kind == Kind::HostCopy || instruction.kind == Kind::HostStart)
        copies.push_back({seconds.size(), instruction.number});
      seconds.push_back(getThreadSeconds() - before);
      return {};
    }));
    for (auto [index, number] : collectives)
      seconds[index] = context.communicator.getCpuSeconds(number);
    for (auto [index, number] : copies)
      seconds[index] = device.getCopySeconds(number);
    return {};
  }

  Status execute(const CompiledInstruction &instruction, uint32_t microBatch) {
    switch (instruction.kind) {
    case Kind::Done:
      return {};
    case Kind::Kernel:
      return device.launch(instruction.number);
    case Kind::Matmul: {
      uint64_t before = countAllocations();
      Status status = device.multiply(instruction.number);
      libraryAllocations += countAllocations() - before;
      return status;
    }
    case Kind::Convolution: {
      uint64_t before = countAllocations();
      Status status = device.convolve(instruction.number);
      libraryAllocations += countAllocations() - before;
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
uint64_t Executor::getScratchBytes() const { return implementation->device.getScratchBytes(); }
Status Executor::synchronize() const {
  return implementation->device.synchronize().within(fmt::format("rank {}", implementation->context.rank));
}
std::vector<std::string> Executor::getWarnings() const { return implementation->device.getWarnings(); }
Result<std::optional<DeviceRates>> Executor::measureRates(std::span<const DType> types) {
  return implementation->device.measureRates(types);
}
