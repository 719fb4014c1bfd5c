//===- Executor.cpp - one rank's program, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Executor.h"
#include "Arena.h"
#include "CompiledProgram.h"
#include "meshwright/runtime/ThreadTime.h"

using namespace meshwright;
using namespace meshwright::runtime;

struct Executor::Implementation {
  explicit Implementation(const ExecutorContext &context)
      : context(context), fetches(context.hostLink), writeBacks(context.hostLink) {}

  ExecutorContext context;
  Arena arena, hostArena;
  std::unique_ptr<MatmulSet> matmuls;
  AllocationCount allocations;
  /// Copies from the host and to it. Behind the arenas, so that they are over before what they use is gone.
  CopyQueue fetches, writeBacks;
  std::unique_ptr<CompiledProgram> compiled;

  CopyQueue &getQueue(bool isToHost) { return isToHost ? writeBacks : fetches; }

  Status loadConstants() {
    for (const Constant &constant : context.program.constants()) {
      uint64_t bytes = getArrayBytes(context.program.buffers(constant.buffer()));
      if (bytes != 0)
        std::memcpy(compiled->getAddress(constant.buffer()),
                    context.package.getConstants().data() + constant.file_offset(), bytes);
    }
    return {};
  }

  Status prepare() {
    MW_TRY(arena.allocate(context.program.arena_bytes()));
    MW_TRY(hostArena.allocate(context.program.host_arena_bytes()));
    MW_TRY_ASSIGN(matmuls, MatmulSet::create());
    compiled = std::make_unique<CompiledProgram>(
        context, ProgramResources{arena.data(), hostArena.data(), *matmuls, fetches, writeBacks});
    MW_TRY(loadConstants());
    MW_TRY(compiled->compile());
    return matmuls->finish();
  }

  uint64_t countAllocations() const { return context.countAllocations ? context.countAllocations() : 0; }

  Status runStep(uint32_t position) {
    allocations = {};
    uint64_t before = countAllocations();
    Status status = run(position);
    finishCopies();
    allocations.own = countAllocations() - before - allocations.library;
    return status;
  }

  /// Where a step ends early, copies may be under way.
  void finishCopies() {
    fetches.finish();
    writeBacks.finish();
  }

  Status run(uint32_t position) {
    for (const CompiledItem &item : compiled->getItems())
      if (item.runsAt(position))
        for (const CompiledInstruction &instruction : *item.task)
          MW_TRY(execute(instruction, item.microBatch));
    return {};
  }

  Status runProfiled(uint32_t position, std::vector<double> &seconds) {
    fetches.setProfiling(true);
    writeBacks.setProfiling(true);
    Status status = profile(position, seconds);
    finishCopies();
    fetches.setProfiling(false);
    writeBacks.setProfiling(false);
    return status;
  }

  Status profile(uint32_t position, std::vector<double> &seconds) {
    seconds.clear();
    std::vector<std::pair<size_t, uint32_t>> collectives;
    std::vector<std::pair<size_t, const CompiledInstruction *>> copied;
    for (const CompiledItem &item : compiled->getItems()) {
      if (!item.runsAt(position))
        continue;
      for (const CompiledInstruction &instruction : *item.task) {
        double before = getThreadSeconds();
        MW_TRY(execute(instruction, item.microBatch));
        if (instruction.kind == CompiledInstruction::Kind::Collective ||
            instruction.kind == CompiledInstruction::Kind::Start)
          collectives.push_back({seconds.size(), instruction.number});
        if (instruction.kind == CompiledInstruction::Kind::HostCopy ||
            instruction.kind == CompiledInstruction::Kind::HostStart)
          copied.push_back({seconds.size(), &instruction});
        seconds.push_back(getThreadSeconds() - before);
      }
    }
    for (auto [index, number] : collectives)
      seconds[index] = context.communicator.getCpuSeconds(number);
    for (auto [index, copy] : copied)
      seconds[index] = getQueue(copy->isToHost).getCpuSeconds(copy->number);
    return {};
  }

  Status execute(const CompiledInstruction &instruction, uint32_t microBatch) {
    switch (instruction.kind) {
    case CompiledInstruction::Kind::Kernel:
      instruction.kernel(instruction.arguments);
      return {};
    case CompiledInstruction::Kind::Matmul: {
      uint64_t before = countAllocations();
      Status status = matmuls->execute(instruction.number);
      allocations.library += countAllocations() - before;
      return status;
    }
    case CompiledInstruction::Kind::Collective:
      return context.communicator.execute(instruction.number);
    case CompiledInstruction::Kind::Start:
      if (instruction.started)
        instruction.started[instruction.isOnce ? 0 : microBatch] = instruction.number;
      return context.communicator.start(instruction.number);
    case CompiledInstruction::Kind::Wait:
      return context.communicator.wait(instruction.started ? instruction.started[instruction.isOnce ? 0 : microBatch]
                                                           : instruction.number);
    case CompiledInstruction::Kind::Copy:
      std::memmove(instruction.to, instruction.from, instruction.bytes);
      return {};
    case CompiledInstruction::Kind::HostCopy:
      getQueue(instruction.isToHost).start(instruction.number);
      getQueue(instruction.isToHost).wait(instruction.number);
      return {};
    case CompiledInstruction::Kind::HostStart:
      getQueue(instruction.isToHost).start(instruction.number);
      return {};
    case CompiledInstruction::Kind::HostWait:
      getQueue(instruction.isToHost).wait(instruction.number);
      return {};
    case CompiledInstruction::Kind::Coordinate: {
      int32_t coordinate = static_cast<int32_t>(instruction.number);
      std::memcpy(instruction.to, &coordinate, sizeof(coordinate));
      return {};
    }
    case CompiledInstruction::Kind::MicroBatch: {
      int32_t number = static_cast<int32_t>(microBatch);
      std::memcpy(instruction.to, &number, sizeof(number));
      return {};
    }
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

Status Executor::runStep(uint32_t position) { return implementation->runStep(position); }
Status Executor::runProfiledStep(uint32_t position, std::vector<double> &seconds) {
  return implementation->runProfiled(position, seconds);
}
AllocationCount Executor::getStepAllocations() const { return implementation->allocations; }

std::span<std::byte> Executor::getBuffer(int32_t index) const {
  return {implementation->compiled->getAddress(static_cast<uint32_t>(index)),
          getArrayBytes(implementation->context.program.buffers(index))};
}

uint64_t Executor::getArenaBytes() const { return implementation->context.program.arena_bytes(); }
uint64_t Executor::getPersistentBytes() const { return implementation->context.program.persistent_bytes(); }
uint64_t Executor::getHostArenaBytes() const { return implementation->context.program.host_arena_bytes(); }
uint64_t Executor::getScratchBytes() const { return implementation->matmuls->getScratchBytes(); }
std::vector<std::string> Executor::getWarnings() const { return implementation->matmuls->getWarnings(); }
