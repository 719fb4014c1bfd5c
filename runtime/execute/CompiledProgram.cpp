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
    : context(context), microBatches(context.package.getMicroBatches()), tags(context.program) {}

std::byte *CompiledProgram::getAddress(uint32_t index, uint32_t microBatch) const {
  const Buffer &buffer = context.program.buffers(static_cast<int>(index));
  return context.device.getArena(buffer.memory()) + getOffset(buffer, microBatch);
}

Status CompiledProgram::compile() {
  for (const ScheduleItem &item : context.program.schedule()) {
    MW_TRY_ASSIGN(const CompiledTask *task, getTask(item.task(), item.micro_batch()));
    items.push_back({task, &context.program.tasks(static_cast<int>(item.task())), item.micro_batch(), item.first_step(),
                     item.end_step()});
  }
  return {};
}

Result<const CompiledTask *> CompiledProgram::getTask(uint32_t task, uint32_t microBatch) {
  uint32_t period = getPeriod(context.program, context.program.tasks(static_cast<int>(task)), microBatches);
  auto [entry, isNew] = tasks.try_emplace({task, microBatch % period});
  if (isNew)
    MW_TRY(compileTask(task, microBatch % period, entry->second));
  return &entry->second;
}

Status CompiledProgram::compileTask(uint32_t number, uint32_t microBatch, CompiledTask &compiled) {
  const Task &task = context.program.tasks(static_cast<int>(number));
  startedHere.clear();
  copiesHere.clear();
  compiled.reserve(task.instructions_size());
  for (const Instruction &instruction : task.instructions()) {
    // A product that computes its epilogue has done the work of the next kernel.
    bool isDone = !compiled.empty() && compiled.back().kind == CompiledInstruction::Kind::Matmul &&
                  context.device.hasEpilogue(compiled.back().number);
    CompiledInstruction next{.kind = CompiledInstruction::Kind::Done, .to = nullptr};
    if (!isDone) {
      MW_TRY_ASSIGN(next, compileInstruction(number, instruction, microBatch));
    }
    compiled.push_back(next);
  }
  return {};
}

Result<CompiledInstruction> CompiledProgram::compileInstruction(uint32_t task, const Instruction &instruction,
                                                                uint32_t microBatch) {
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
    MW_TRY_ASSIGN(CompiledInstruction compiled, prepare(instruction, microBatch % period));
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

Result<CompiledInstruction> CompiledProgram::prepare(const Instruction &instruction, uint32_t microBatch) {
  CompiledInstruction compiled{};
  switch (instruction.kind_case()) {
  case Instruction::kKernel: {
    compiled.kind = CompiledInstruction::Kind::Kernel;
    MW_TRY_ASSIGN(compiled.number, prepareKernel(instruction.kernel(), microBatch));
    return compiled;
  }
  case Instruction::kMatmul: {
    compiled.kind = CompiledInstruction::Kind::Matmul;
    MW_TRY_ASSIGN(compiled.number, prepareMatmul(instruction, microBatch));
    return compiled;
  }
  case Instruction::kConvolution: {
    compiled.kind = CompiledInstruction::Kind::Convolution;
    MW_TRY_ASSIGN(compiled.number, prepareConvolution(instruction, microBatch));
    return compiled;
  }
  case Instruction::kCollective: {
    compiled.kind =
        instruction.collective().start() ? CompiledInstruction::Kind::Start : CompiledInstruction::Kind::Collective;
    MW_TRY_ASSIGN(compiled.number, prepareCollective(instruction, microBatch));
    return compiled;
  }
  case Instruction::kCopy:
    return prepareCopy(instruction.copy(), microBatch);
  case Instruction::kMicroBatch:
    compiled.kind = CompiledInstruction::Kind::MicroBatch;
    compiled.to = getAddress(instruction.micro_batch().buffer(), microBatch);
    return compiled;
  default:
    compiled.kind = CompiledInstruction::Kind::Coordinate;
    compiled.to = getAddress(instruction.coordinate().buffer(), microBatch);
    compiled.number = context.mesh.getCoordinates(context.rank)[instruction.coordinate().axis()];
    return compiled;
  }
}

Result<uint32_t> CompiledProgram::prepareKernel(const Kernel &kernel, uint32_t microBatch) {
  std::vector<std::span<std::byte>> buffers;
  for (uint32_t argument : kernel.arguments())
    buffers.push_back({getAddress(argument, microBatch), context.program.buffers(static_cast<int>(argument)).bytes()});
  return context.device.prepareKernel(kernel.symbol(), buffers, kernel.outputs());
}

Result<uint32_t> CompiledProgram::prepareMatmul(const Instruction &instruction, uint32_t microBatch) {
  const Matmul &matmul = instruction.matmul();
  const Epilogue &epilogue = matmul.epilogue();
  MatmulAddresses addresses{getAddress(matmul.lhs(), microBatch), getAddress(matmul.rhs(), microBatch),
                            getAddress(matmul.out(), microBatch)};
  if (epilogue.has_bias())
    addresses.bias = getAddress(epilogue.bias(), microBatch);
  if (epilogue.has_preactivation())
    addresses.preactivation = getAddress(epilogue.preactivation(), microBatch);
  if (matmul.has_epilogue())
    addresses.finished = getAddress(epilogue.out(), microBatch);
  return context.device.prepareMatmul(instruction, addresses);
}

Result<uint32_t> CompiledProgram::prepareConvolution(const Instruction &instruction, uint32_t microBatch) {
  const Convolution &convolution = instruction.convolution();
  return context.device.prepareConvolution(instruction, getAddress(convolution.lhs(), microBatch),
                                           getAddress(convolution.rhs(), microBatch),
                                           getAddress(convolution.out(), microBatch));
}

Result<CompiledInstruction> CompiledProgram::prepareCopy(const Copy &copy, uint32_t microBatch) {
  CompiledInstruction compiled{};
  const Buffer &from = context.program.buffers(static_cast<int>(copy.from()));
  const Buffer &to = context.program.buffers(static_cast<int>(copy.to()));
  CopyPath path = to.memory() == from.memory() ? CopyPath::Within
                  : to.memory() == HOST        ? CopyPath::ToHost
                                               : CopyPath::FromHost;
  compiled.kind = path == CopyPath::Within ? CompiledInstruction::Kind::Copy
                  : copy.start()           ? CompiledInstruction::Kind::HostStart
                                           : CompiledInstruction::Kind::HostCopy;
  MW_TRY_ASSIGN(compiled.number,
                context.device.prepareCopy(getAddress(copy.to(), microBatch), getAddress(copy.from(), microBatch),
                                           getArrayBytes(to), path));
  return compiled;
}

Result<uint32_t> CompiledProgram::prepareCollective(const Instruction &instruction, uint32_t microBatch) {
  const Collective &collective = instruction.collective();
  CollectiveCall call;
  call.kind = collective.kind();
  call.reduction = collective.reduction();
  call.type = collective.dtype();
  call.members = getMembers(collective, context.mesh, context.rank);
  // The sender is the first of the two members of a send.
  for (const CollectivePart &part : collective.parts())
    call.parts.push_back({part.count(), part.has_in() ? getAddress(part.in(), microBatch) : nullptr,
                          part.has_out() ? getAddress(part.out(), microBatch) : nullptr,
                          collective.kind() == Collective::SEND ? 0 : part.root()});
  call.isStarted = collective.start();
  call.tag = collective.tag();
  call.name = instruction.name();
  call.location = instruction.location();
  return context.communicator.prepare(std::move(call));
}
