//===- Executor.cpp - one rank's program, ready to run --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Executor.h"
#include "Arena.h"
#include "CollectiveTags.h"
#include "CopyQueue.h"
#include "meshwright/runtime/ThreadTime.h"
#include <map>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// An instruction with its addresses, as small as can be: a step walks the list from end to end.
struct CompiledInstruction {
  enum class Kind : uint8_t {
    Kernel,
    Matmul,
    Collective,
    Start,
    Wait,
    Copy,
    HostCopy,
    HostStart,
    HostWait,
    Coordinate,
    MicroBatch
  };
  Kind kind;
  bool isToHost = false; // of copies between the memories
  uint32_t number = 0;   // of the product, collective or copy (a Wait's at first its tag); the coordinate's value
  union {
    KernelFn kernel;
    std::byte *to;
  };
  union {
    void *const *arguments;
    const std::byte *from;
  };
  uint64_t bytes = 0;
};

} // namespace

struct Executor::Implementation {
  explicit Implementation(const ExecutorContext &context)
      : context(context), fetches(context.hostLink), writeBacks(context.hostLink) {}

  ExecutorContext context;
  Arena arena, hostArena;
  std::unique_ptr<MatmulSet> matmuls;
  std::vector<std::vector<CompiledInstruction>> tasks;
  /// The numbers of the started collectives.
  std::map<const Collective *, uint32_t> started;
  /// The started copies of the task that is being compiled, by their tags.
  std::map<uint32_t, CompiledInstruction> copies;
  /// The arguments of all kernels, one after the other.
  std::vector<void *> arguments;
  AllocationCount allocations;
  /// Copies from the host and to it. Last, so that they are over before what they use is gone.
  CopyQueue fetches, writeBacks;

  std::byte *getAddress(uint32_t index) const {
    const Buffer &buffer = context.program.buffers(static_cast<int>(index));
    return (buffer.memory() == HOST ? hostArena : arena).data() + buffer.offset();
  }
  CopyQueue &getQueue(bool isToHost) { return isToHost ? writeBacks : fetches; }

  Status loadConstants() {
    for (const Constant &constant : context.program.constants()) {
      uint64_t bytes = getArrayBytes(context.program.buffers(constant.buffer()));
      if (bytes != 0)
        std::memcpy(getAddress(constant.buffer()), context.package.getConstants().data() + constant.file_offset(),
                    bytes);
    }
    return {};
  }

  Status compile() {
    size_t argumentCount = 0;
    for (const Task &task : context.program.tasks())
      for (const Instruction &instruction : task.instructions())
        argumentCount += instruction.kernel().arguments_size();
    // Addresses of arguments are taken while the list grows.
    arguments.reserve(argumentCount);
    tasks.resize(context.program.tasks_size());
    std::set<uint32_t> scheduled;
    for (const ScheduleItem &item : context.program.schedule())
      scheduled.insert(item.task());
    for (uint32_t task : scheduled) {
      std::vector<CompiledInstruction> &compiled = tasks[task];
      copies.clear();
      for (const Instruction &instruction : context.program.tasks(static_cast<int>(task)).instructions()) {
        auto result = compileInstruction(instruction);
        if (!result.ok())
          return result.status();
        compiled.push_back(*result);
      }
    }
    // The start may be in a later task.
    CollectiveTags tags(context.program);
    for (uint32_t task : scheduled)
      for (CompiledInstruction &instruction : tasks[task])
        if (instruction.kind == CompiledInstruction::Kind::Wait)
          instruction.number = started.at(tags.find(task, instruction.number));
    return {};
  }

  Result<CompiledInstruction> compileInstruction(const Instruction &instruction) {
    CompiledInstruction compiled{};
    switch (instruction.kind_case()) {
    case Instruction::kKernel: {
      compiled.kind = CompiledInstruction::Kind::Kernel;
      MW_TRY_ASSIGN(compiled.kernel, context.kernels.find(instruction.kernel().symbol()));
      compiled.arguments = arguments.data() + arguments.size();
      for (uint32_t argument : instruction.kernel().arguments())
        arguments.push_back(getAddress(argument));
      return compiled;
    }
    case Instruction::kMatmul: {
      const Matmul &matmul = instruction.matmul();
      compiled.kind = CompiledInstruction::Kind::Matmul;
      MW_TRY_ASSIGN(compiled.number, matmuls->prepare(matmul, getAddress(matmul.lhs()), getAddress(matmul.rhs()),
                                                      getAddress(matmul.out()), instruction.name()));
      return compiled;
    }
    case Instruction::kCollective: {
      bool start = instruction.collective().start();
      compiled.kind = start ? CompiledInstruction::Kind::Start : CompiledInstruction::Kind::Collective;
      MW_TRY_ASSIGN(compiled.number, prepareCollective(instruction));
      if (start)
        started[&instruction.collective()] = compiled.number;
      return compiled;
    }
    case Instruction::kCopy:
      return compileCopy(instruction.copy());
    case Instruction::kCopyWait:
      compiled = copies.at(instruction.copy_wait().tag());
      compiled.kind = CompiledInstruction::Kind::HostWait;
      return compiled;
    case Instruction::kWait:
      compiled.kind = CompiledInstruction::Kind::Wait;
      compiled.number = instruction.wait().tag();
      return compiled;
    case Instruction::kMicroBatch:
      compiled.kind = CompiledInstruction::Kind::MicroBatch;
      compiled.to = getAddress(instruction.micro_batch().buffer());
      return compiled;
    default:
      compiled.kind = CompiledInstruction::Kind::Coordinate;
      compiled.to = getAddress(instruction.coordinate().buffer());
      compiled.number = context.mesh.getCoordinates(context.rank)[instruction.coordinate().axis()];
      return compiled;
    }
  }

  Result<CompiledInstruction> compileCopy(const Copy &copy) {
    CompiledInstruction compiled{};
    compiled.to = getAddress(copy.to());
    compiled.from = getAddress(copy.from());
    const Buffer &to = context.program.buffers(copy.to());
    compiled.bytes = getArrayBytes(to);
    compiled.kind = CompiledInstruction::Kind::Copy;
    if (to.memory() == context.program.buffers(copy.from()).memory())
      return compiled;
    compiled.kind = copy.start() ? CompiledInstruction::Kind::HostStart : CompiledInstruction::Kind::HostCopy;
    compiled.isToHost = to.memory() == HOST;
    MW_TRY_ASSIGN(compiled.number, getQueue(compiled.isToHost).prepare(compiled.to, compiled.from, compiled.bytes));
    if (copy.start())
      copies[copy.tag()] = compiled;
    return compiled;
  }

  Result<uint32_t> prepareCollective(const Instruction &instruction) {
    const Collective &collective = instruction.collective();
    CollectiveCall call;
    call.kind = collective.kind();
    call.reduction = collective.reduction();
    call.type = collective.dtype();
    call.members = getMembers(collective, context.mesh, context.rank);
    // Of the two that a send has as members the root is the first.
    for (const CollectivePart &part : collective.parts())
      call.parts.push_back({part.count(), part.has_in() ? getAddress(part.in()) : nullptr,
                            part.has_out() ? getAddress(part.out()) : nullptr,
                            collective.kind() == Collective::SEND ? 0 : part.root()});
    call.isStarted = collective.start();
    call.tag = collective.tag();
    call.name = instruction.name();
    call.location = instruction.location();
    return context.communicator.prepare(std::move(call));
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
    for (const ScheduleItem &item : context.program.schedule())
      if (runsAt(item, position))
        for (const CompiledInstruction &instruction : tasks[item.task()])
          MW_TRY(execute(instruction, item));
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
    for (const ScheduleItem &item : context.program.schedule()) {
      if (!runsAt(item, position))
        continue;
      for (const CompiledInstruction &instruction : tasks[item.task()]) {
        double before = getThreadSeconds();
        MW_TRY(execute(instruction, item));
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

  Status execute(const CompiledInstruction &instruction, const ScheduleItem &item) {
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
      return context.communicator.start(instruction.number);
    case CompiledInstruction::Kind::Wait:
      return context.communicator.wait(instruction.number);
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
      int32_t microBatch = static_cast<int32_t>(item.micro_batch());
      std::memcpy(instruction.to, &microBatch, sizeof(microBatch));
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
  std::string rank = fmt::format("rank {}", context.rank);
  MW_TRY(implementation->arena.allocate(context.program.arena_bytes()).within(rank));
  MW_TRY(implementation->hostArena.allocate(context.program.host_arena_bytes()).within(rank));
  MW_TRY(implementation->loadConstants());
  MW_TRY_ASSIGN(implementation->matmuls, MatmulSet::create());
  MW_TRY(implementation->compile().within(rank));
  MW_TRY(implementation->matmuls->finish().within(rank));
  return std::unique_ptr<Executor>(new Executor(std::move(implementation)));
}

Status Executor::runStep(uint32_t position) { return implementation->runStep(position); }
Status Executor::runProfiledStep(uint32_t position, std::vector<double> &seconds) {
  return implementation->runProfiled(position, seconds);
}
AllocationCount Executor::getStepAllocations() const { return implementation->allocations; }

std::span<std::byte> Executor::getBuffer(int32_t index) const {
  return {implementation->getAddress(static_cast<uint32_t>(index)),
          getArrayBytes(implementation->context.program.buffers(index))};
}

uint64_t Executor::getArenaBytes() const { return implementation->context.program.arena_bytes(); }
uint64_t Executor::getPersistentBytes() const { return implementation->context.program.persistent_bytes(); }
uint64_t Executor::getHostArenaBytes() const { return implementation->context.program.host_arena_bytes(); }
uint64_t Executor::getScratchBytes() const { return implementation->matmuls->getScratchBytes(); }
std::vector<std::string> Executor::getWarnings() const { return implementation->matmuls->getWarnings(); }
