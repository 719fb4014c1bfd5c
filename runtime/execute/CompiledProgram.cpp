//===- CompiledProgram.cpp - a program with its addresses -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns each task of the schedule into a list of instructions with addresses, before the first step, so that a step
// looks up no buffers or tags. A task is compiled once per micro-batch of its period: the number of micro-batches
// after which its buffers return to the same slots.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"
#include "meshwright/runtime/Slots.h"

using namespace meshwright;
using namespace meshwright::runtime;

CompiledProgram::CompiledProgram(const ExecutorContext &context)
    : context(context), microBatches(context.package.getMicroBatches()), tags(context.program),
      versions(context.program) {}

std::byte *CompiledProgram::getAddress(uint32_t index, uint32_t microBatch) const {
  const Buffer &buffer = context.program.buffers(static_cast<int>(index));
  return context.device.getArena(buffer.memory()) + getOffset(buffer, microBatch);
}

/// Where the program's instructions find a buffer on their target.
std::byte *CompiledProgram::getAddress(uint32_t index, const Target &target) const {
  const Buffer &buffer = context.program.buffers(static_cast<int>(index));
  if (target.places)
    if (std::optional<uint64_t> place = target.places->find(getOffset(buffer, target.microBatch)))
      return target.device.getArena(DEVICE) + *place;
  return getAddress(index, target.microBatch);
}

Status CompiledProgram::compile() {
  MW_TRY(shareLoops());
  for (const ScheduleItem &item : context.program.schedule()) {
    MW_TRY_ASSIGN(const CompiledTask *task, getTask(item.task(), item.micro_batch()));
    items.push_back({task, &context.program.tasks(static_cast<int>(item.task())), item.micro_batch(), item.first_step(),
                     item.end_step()});
  }
  return {};
}

/// Finds the loops of all tasks that threads share, and makes the threads' devices with room for the largest one.
Status CompiledProgram::shareLoops() {
  auto numThreads = static_cast<uint32_t>(context.device.getNumThreads());
  uint64_t bytes = 0;
  bool sharesAny = false;
  for (const ScheduleItem &item : context.program.schedule()) {
    uint32_t microBatch = item.micro_batch() % getPeriodOf(item.task());
    auto [entry, isNew] = tasks.try_emplace({item.task(), microBatch});
    if (!isNew)
      continue;
    const Task &task = context.program.tasks(static_cast<int>(item.task()));
    entry->second.loops = findParallelLoops(context.program, task, microBatch, numThreads);
    for (const ParallelLoop &loop : entry->second.loops) {
      sharesAny = true;
      bytes = std::max(bytes, loop.places.getBytes());
    }
  }
  for (uint32_t thread = 0; sharesAny && thread != numThreads; ++thread) {
    MW_TRY_ASSIGN(std::unique_ptr<Device> device, context.device.createThreadDevice());
    // The last thread has no copy of places.
    uint64_t copyBytes = thread + 1 == numThreads ? 0 : bytes;
    MW_TRY(device->allocate(copyBytes, 0, 0));
    privateBytes += copyBytes;
    threadDevices.push_back(std::move(device));
  }
  return {};
}

uint32_t CompiledProgram::getPeriodOf(uint32_t task) const {
  return getPeriod(context.program, context.program.tasks(static_cast<int>(task)), microBatches);
}

Result<const CompiledTask *> CompiledProgram::getTask(uint32_t task, uint32_t microBatch) {
  microBatch %= getPeriodOf(task);
  CompiledTask &compiled = tasks.at({task, microBatch});
  if (compiled.instructions.empty())
    MW_TRY(compileTask(task, microBatch, compiled));
  return &compiled;
}

Status CompiledProgram::compileTask(uint32_t number, uint32_t microBatch, CompiledTask &compiled) {
  const Task &task = context.program.tasks(static_cast<int>(number));
  startedHere.clear();
  copiesHere.clear();
  std::vector<CompiledInstruction> &instructions = compiled.instructions;
  auto size = static_cast<size_t>(task.instructions_size());
  instructions.reserve(size);
  auto loop = compiled.loops.begin();
  // Instructions of other periods than the task are prepared once for several tasks, which read different operands.
  bool isPreparedOnce = getPeriodOf(number) == 1;
  versions.begin(microBatch);
  while (instructions.size() != size) {
    if (loop != compiled.loops.end() && loop->getBegin() == instructions.size()) {
      MW_TRY(compileLoop(task, microBatch, *loop++, compiled));
      versions.begin(microBatch);
      continue;
    }
    // A product that computes its epilogue has done the work of the next kernel.
    bool isDone = !instructions.empty() && instructions.back().kind == CompiledInstruction::Kind::Matmul &&
                  context.device.hasEpilogue(instructions.back().number);
    const Instruction &instruction = task.instructions(static_cast<int>(instructions.size()));
    uint64_t rhsVersion = isPreparedOnce ? versions.next(instruction) : 0;
    CompiledInstruction next{.kind = CompiledInstruction::Kind::Done, .to = nullptr};
    if (!isDone) {
      MW_TRY_ASSIGN(next, compileInstruction(number, instruction, microBatch, rhsVersion));
    }
    instructions.push_back(next);
  }
  return {};
}

/// Prepares each thread's part of a loop on the thread's device.
Status CompiledProgram::compileLoop(const Task &task, uint32_t microBatch, const ParallelLoop &loop,
                                    CompiledTask &compiled) {
  for (size_t thread = 0; thread != threadDevices.size(); ++thread) {
    bool isLast = thread + 1 == threadDevices.size();
    Target target{*threadDevices[thread], microBatch, isLast ? nullptr : &loop.places};
    versions.begin(microBatch);
    for (uint32_t i = loop.parts[thread]; i != loop.parts[thread + 1]; ++i) {
      const Instruction &instruction = task.instructions(static_cast<int>(i));
      target.rhsVersion = versions.next(instruction);
      MW_TRY_ASSIGN(CompiledInstruction next, prepare(instruction, target));
      compiled.instructions.push_back(next);
    }
  }
  return {};
}

Result<CompiledInstruction> CompiledProgram::compileInstruction(uint32_t task, const Instruction &instruction,
                                                                uint32_t microBatch, uint64_t rhsVersion) {
  if (instruction.has_wait())
    return compileWait(task, instruction.wait().tag());
  if (instruction.has_copy_wait()) {
    CompiledInstruction compiled = copiesHere.at(instruction.copy_wait().tag());
    compiled.kind = CompiledInstruction::Kind::HostWait;
    return compiled;
  }
  uint32_t period = getPeriod(context.program, instruction, microBatches);
  auto known = prepared.find({&instruction, microBatch % period});
  if (known == prepared.end()) {
    MW_TRY_ASSIGN(
        CompiledInstruction compiled,
        prepare(instruction, {.device = context.device, .microBatch = microBatch % period, .rhsVersion = rhsVersion}));
    known = prepared.emplace(std::pair(&instruction, microBatch % period), compiled).first;
  }
  CompiledInstruction compiled = known->second;
  if (instruction.collective().start()) {
    uint32_t tag = instruction.collective().tag();
    startedHere[tag] = compiled.number;
    if (!tags.isOwn(task, tag))
      connect(compiled, tags.getStarted(task, tag));
  }
  if (instruction.copy().start())
    copiesHere[instruction.copy().tag()] = compiled;
  return compiled;
}

CompiledInstruction CompiledProgram::compileWait(uint32_t task, uint32_t tag) {
  CompiledInstruction compiled{};
  compiled.kind = CompiledInstruction::Kind::Wait;
  if (tags.isOwn(task, tag))
    compiled.number = startedHere.at(tag);
  else
    connect(compiled, *tags.findWaited(task, tag));
  return compiled;
}

void CompiledProgram::connect(CompiledInstruction &compiled, uint32_t flight) {
  compiled.isOnce = context.program.tasks(static_cast<int>(tags.getTask(flight))).runs() != Task::EACH_MICRO_BATCH;
  std::vector<uint32_t> &numbers = started[flight];
  numbers.resize(compiled.isOnce ? 1 : microBatches);
  compiled.started = numbers.data();
}

Result<CompiledInstruction> CompiledProgram::prepare(const Instruction &instruction, const Target &target) {
  CompiledInstruction compiled{};
  switch (instruction.kind_case()) {
  case Instruction::kKernel: {
    compiled.kind = CompiledInstruction::Kind::Kernel;
    MW_TRY_ASSIGN(compiled.number, prepareKernel(instruction.kernel(), target));
    return compiled;
  }
  case Instruction::kMatmul: {
    compiled.kind = CompiledInstruction::Kind::Matmul;
    MW_TRY_ASSIGN(compiled.number, prepareMatmul(instruction, target));
    return compiled;
  }
  case Instruction::kConvolution: {
    compiled.kind = CompiledInstruction::Kind::Convolution;
    MW_TRY_ASSIGN(compiled.number, prepareConvolution(instruction, target));
    return compiled;
  }
  case Instruction::kCollective: {
    compiled.kind =
        instruction.collective().start() ? CompiledInstruction::Kind::Start : CompiledInstruction::Kind::Collective;
    MW_TRY_ASSIGN(compiled.number, prepareCollective(instruction, target));
    return compiled;
  }
  case Instruction::kCopy:
    return prepareCopy(instruction.copy(), target);
  case Instruction::kMicroBatch:
    compiled.kind = CompiledInstruction::Kind::MicroBatch;
    compiled.to = getAddress(instruction.micro_batch().buffer(), target);
    return compiled;
  default:
    compiled.kind = CompiledInstruction::Kind::Coordinate;
    compiled.to = getAddress(instruction.coordinate().buffer(), target);
    compiled.number = context.mesh.getCoordinates(context.rank)[instruction.coordinate().axis()];
    return compiled;
  }
}

Result<uint32_t> CompiledProgram::prepareKernel(const Kernel &kernel, const Target &target) {
  std::vector<std::span<std::byte>> buffers;
  for (uint32_t argument : kernel.arguments())
    buffers.push_back({getAddress(argument, target), context.program.buffers(static_cast<int>(argument)).bytes()});
  return target.device.prepareKernel(kernel.symbol(), buffers, kernel.outputs());
}

Result<uint32_t> CompiledProgram::prepareMatmul(const Instruction &instruction, const Target &target) {
  const Matmul &matmul = instruction.matmul();
  const Epilogue &epilogue = matmul.epilogue();
  MatmulAddresses addresses{getAddress(matmul.lhs(), target), getAddress(matmul.rhs(), target),
                            getAddress(matmul.out(), target)};
  if (epilogue.has_bias())
    addresses.bias = getAddress(epilogue.bias(), target);
  if (epilogue.has_preactivation())
    addresses.preactivation = getAddress(epilogue.preactivation(), target);
  if (matmul.has_epilogue())
    addresses.finished = getAddress(epilogue.out(), target);
  addresses.rhsVersion = target.rhsVersion;
  return target.device.prepareMatmul(instruction, addresses);
}

Result<uint32_t> CompiledProgram::prepareConvolution(const Instruction &instruction, const Target &target) {
  const Convolution &convolution = instruction.convolution();
  return target.device.prepareConvolution(instruction, getAddress(convolution.lhs(), target),
                                          getAddress(convolution.rhs(), target), getAddress(convolution.out(), target));
}

Result<CompiledInstruction> CompiledProgram::prepareCopy(const Copy &copy, const Target &target) {
  CompiledInstruction compiled{};
  const Buffer &from = context.program.buffers(static_cast<int>(copy.from()));
  const Buffer &to = context.program.buffers(static_cast<int>(copy.to()));
  CopyPath path = to.memory() == from.memory() ? CopyPath::Within
                  : to.memory() == HOST        ? CopyPath::ToHost
                                               : CopyPath::FromHost;
  compiled.kind = path == CopyPath::Within ? CompiledInstruction::Kind::Copy
                  : copy.start()           ? CompiledInstruction::Kind::HostStart
                                           : CompiledInstruction::Kind::HostCopy;
  MW_TRY_ASSIGN(compiled.number, target.device.prepareCopy(getAddress(copy.to(), target),
                                                           getAddress(copy.from(), target), getArrayBytes(to), path));
  return compiled;
}

Result<uint32_t> CompiledProgram::prepareCollective(const Instruction &instruction, const Target &target) {
  const Collective &collective = instruction.collective();
  CollectiveCall call;
  call.kind = collective.kind();
  call.reduction = collective.reduction();
  call.type = collective.dtype();
  call.members = getMembers(collective, context.mesh, context.rank);
  // The sender is the first of the two members of a send.
  for (const CollectivePart &part : collective.parts())
    call.parts.push_back({part.count(), part.has_in() ? getAddress(part.in(), target) : nullptr,
                          part.has_out() ? getAddress(part.out(), target) : nullptr,
                          collective.kind() == Collective::SEND ? 0 : part.root()});
  call.isStarted = collective.start();
  call.tag = collective.tag();
  call.name = instruction.name();
  call.location = instruction.location();
  return context.communicator.prepare(std::move(call));
}
