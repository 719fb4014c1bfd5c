//===- ExpandLoops.cpp - programs without loops ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two passes over each task: the first counts the instructions and bytes of the expansion against limits, so that a
// hostile package is refused before it takes memory; the second writes the iterations out with a stack of the loops
// around the instruction. Iteration k of a collective with tag t gets tag t + k * (largest tag of the package + 1),
// which is the same on all ranks without any communication.
//
//===----------------------------------------------------------------------===//

#include "ExpandLoops.h"
#include <algorithm>
#include <map>
#include <vector>

using namespace meshwright;
using namespace meshwright::runtime;

/// Bounds on the expanded loops of a package: instructions, counting one for an empty iteration, and their bytes as
/// messages. A small package could otherwise fill its reader's memory.
static constexpr uint64_t maxInstructions = 10'000'000;
static constexpr uint64_t maxBytes = uint64_t(1) << 31;

namespace {

/// Calls `visit` for the number of every buffer that `instruction` names.
template <typename Visit> Status forEachBuffer(Instruction &instruction, Visit &&visit) {
  auto replace = [&](auto *message, uint32_t (std::remove_pointer_t<decltype(message)>::*get)() const,
                     void (std::remove_pointer_t<decltype(message)>::*set)(uint32_t)) -> Status {
    MW_TRY_ASSIGN(uint32_t number, visit((message->*get)()));
    (message->*set)(number);
    return {};
  };
  switch (instruction.kind_case()) {
  case Instruction::kKernel:
    for (uint32_t &argument : *instruction.mutable_kernel()->mutable_arguments()) {
      MW_TRY_ASSIGN(argument, visit(argument));
    }
    return {};
  case Instruction::kMatmul: {
    Matmul *matmul = instruction.mutable_matmul();
    MW_TRY(replace(matmul, &Matmul::lhs, &Matmul::set_lhs));
    MW_TRY(replace(matmul, &Matmul::rhs, &Matmul::set_rhs));
    MW_TRY(replace(matmul, &Matmul::out, &Matmul::set_out));
    if (!matmul->has_epilogue())
      return {};
    Epilogue *epilogue = matmul->mutable_epilogue();
    if (epilogue->has_bias())
      MW_TRY(replace(epilogue, &Epilogue::bias, &Epilogue::set_bias));
    if (epilogue->has_preactivation())
      MW_TRY(replace(epilogue, &Epilogue::preactivation, &Epilogue::set_preactivation));
    return replace(epilogue, &Epilogue::out, &Epilogue::set_out);
  }
  case Instruction::kConvolution: {
    Convolution *convolution = instruction.mutable_convolution();
    MW_TRY(replace(convolution, &Convolution::lhs, &Convolution::set_lhs));
    MW_TRY(replace(convolution, &Convolution::rhs, &Convolution::set_rhs));
    return replace(convolution, &Convolution::out, &Convolution::set_out);
  }
  case Instruction::kCollective:
    for (CollectivePart &part : *instruction.mutable_collective()->mutable_parts()) {
      if (part.has_in())
        MW_TRY(replace(&part, &CollectivePart::in, &CollectivePart::set_in));
      if (part.has_out())
        MW_TRY(replace(&part, &CollectivePart::out, &CollectivePart::set_out));
    }
    return {};
  case Instruction::kCopy:
    MW_TRY(replace(instruction.mutable_copy(), &Copy::from, &Copy::set_from));
    return replace(instruction.mutable_copy(), &Copy::to, &Copy::set_to);
  case Instruction::kCoordinate:
    return replace(instruction.mutable_coordinate(), &Coordinate::buffer, &Coordinate::set_buffer);
  case Instruction::kMicroBatch:
    return replace(instruction.mutable_micro_batch(), &MicroBatch::buffer, &MicroBatch::set_buffer);
  default:
    return {};
  }
}

/// The tag of a collective, a started copy or a wait; null for anything else.
std::optional<uint32_t> getTag(const Instruction &instruction) {
  if (instruction.has_collective())
    return instruction.collective().tag();
  if (instruction.has_wait())
    return instruction.wait().tag();
  if (instruction.has_copy_wait())
    return instruction.copy_wait().tag();
  return instruction.copy().start() ? std::optional(instruction.copy().tag()) : std::nullopt;
}

void setTag(Instruction &instruction, uint32_t tag) {
  if (instruction.has_collective())
    instruction.mutable_collective()->set_tag(tag);
  else if (instruction.has_wait())
    instruction.mutable_wait()->set_tag(tag);
  else if (instruction.has_copy_wait())
    instruction.mutable_copy_wait()->set_tag(tag);
  else
    instruction.mutable_copy()->set_tag(tag);
}

/// The state that the programs of a package share.
struct Common {
  /// One more than the largest tag.
  uint64_t numTags = 1;
  /// The remainders of the bounds.
  uint64_t instructions = maxInstructions, bytes = maxBytes;
};

/// Expands one program.
class Expander {
public:
  Expander(Program &program, Common &common) : program(program), common(common) {}

  Status run() {
    bool moves = false;
    for (const Buffer &buffer : program.buffers())
      moves |= buffer.iteration_bytes_size() != 0;
    for (Task &task : *program.mutable_tasks()) {
      task.clear_loops();
      MW_TRY_ASSIGN(bool hasLoops, measure(task));
      if (hasLoops || moves)
        MW_TRY(expand(task).within(fmt::format("task \"{}\"", task.name())));
    }
    for (Buffer &buffer : *program.mutable_buffers())
      buffer.clear_iteration_bytes();
    return {};
  }

private:
  /// An iteration that has begun.
  struct Iteration {
    uint64_t count;
    bool reverse;
    int first;
    /// Among the task's expanded loops.
    int expanded;
    uint64_t done = 0;
    uint64_t getNumber() const { return reverse ? count - 1 - done : done; }
  };

  Result<bool> measure(const Task &task);
  Status expand(Task &task);
  void begin(Task &task, int instruction);
  void end(Task &task);
  Status add(const Instruction &instruction);
  Result<uint32_t> place(uint32_t number);
  void name(Instruction &instruction) const;

  Program &program;
  Common &common;
  std::vector<Iteration> iterations;
  /// The instructions of the expanded task.
  google::protobuf::RepeatedPtrField<Instruction> expanded;
  /// Buffers that have moved, by the number of what moved and how far.
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> moved;
};

/// True if the task has loops; an error if their begins and ends do not match or they expand to too much.
Result<bool> Expander::measure(const Task &task) {
  std::vector<uint64_t> times = {1};
  bool hasLoops = false;
  for (int i = 0; i != task.instructions_size(); ++i) {
    const Instruction &instruction = task.instructions(i);
    if (instruction.has_end_loop() && times.size() == 1)
      return inputError("instruction {} of task \"{}\" ends a loop where none has begun", i, task.name());
    uint64_t bytes = instruction.ByteSizeLong();
    if (hasLoops && (times.back() > common.instructions || times.back() > common.bytes / (bytes + 1)))
      return inputError("the loops of task \"{}\" make more than {} instructions, or more than {} bytes of them",
                        task.name(), maxInstructions, maxBytes);
    if (times.size() > 1) {
      common.instructions -= times.back();
      common.bytes -= times.back() * bytes;
    }
    if (instruction.has_end_loop())
      times.pop_back();
    if (!instruction.has_loop())
      continue;
    uint64_t count = instruction.loop().count();
    if (count == 0)
      return inputError("instruction {} of task \"{}\" begins a loop of 0 iterations", i, task.name());
    hasLoops = true;
    times.push_back(count > maxInstructions ? maxInstructions + 1 : times.back() * count);
  }
  if (times.size() != 1)
    return inputError("{} loops of task \"{}\" do not end", times.size() - 1, task.name());
  return hasLoops;
}

Status Expander::expand(Task &task) {
  expanded.Clear();
  for (int i = 0; i != task.instructions_size(); ++i) {
    const Instruction &instruction = task.instructions(i);
    if (instruction.has_loop()) {
      begin(task, i);
    } else if (instruction.has_end_loop()) {
      if (++iterations.back().done == iterations.back().count)
        end(task);
      else
        i = iterations.back().first;
    } else if (Status status = add(instruction); !status.ok()) {
      return status.within(fmt::format("instruction {} ({})", i, instruction.name()));
    }
  }
  task.mutable_instructions()->Swap(&expanded);
  return {};
}

/// Begins the first iteration of a loop.
void Expander::begin(Task &task, int instruction) {
  const Loop &loop = task.instructions(instruction).loop();
  iterations.push_back({loop.count(), loop.reverse(), instruction, task.loops_size()});
  ExpandedLoop &expandedLoop = *task.add_loops();
  expandedLoop.set_begin(static_cast<uint32_t>(expanded.size()));
  expandedLoop.set_count(static_cast<uint32_t>(loop.count()));
}

/// Ends the last iteration of the innermost loop.
void Expander::end(Task &task) {
  ExpandedLoop &loop = *task.mutable_loops(iterations.back().expanded);
  loop.set_length((static_cast<uint32_t>(expanded.size()) - loop.begin()) / loop.count());
  iterations.pop_back();
}

/// Adds the copy of `instruction` for the present iterations.
Status Expander::add(const Instruction &instruction) {
  Instruction &added = *expanded.Add();
  added = instruction;
  MW_TRY(forEachBuffer(added, [&](uint32_t number) { return place(number); }));
  if (iterations.empty())
    return {};
  name(added);
  std::optional<uint32_t> tag = getTag(added);
  if (!tag)
    return {};
  uint64_t before = 0;
  for (const Iteration &iteration : iterations)
    before = before * iteration.count + iteration.done;
  // No product is larger than the instructions times the tags, which are 32 bits each.
  uint64_t newTag = *tag + before * common.numTags;
  if (newTag > UINT32_MAX)
    return inputError("iteration {} of collective #{} has no tag of 32 bits, where {} tags are taken", before, *tag,
                      common.numTags);
  setTag(added, static_cast<uint32_t>(newTag));
  return {};
}

/// The buffer that `number` names in the present iterations.
Result<uint32_t> Expander::place(uint32_t number) {
  // CheckProgram reports numbers that name no buffer.
  if (number >= static_cast<uint32_t>(program.buffers_size()))
    return number;
  const Buffer &buffer = program.buffers(static_cast<int>(number));
  if (static_cast<size_t>(buffer.iteration_bytes_size()) > iterations.size())
    return inputError("buffer {} moves with the iterations of {} loops, but {} are around the instruction", number,
                      buffer.iteration_bytes_size(), iterations.size());
  uint64_t distance = 0;
  for (int i = 0; i != buffer.iteration_bytes_size(); ++i) {
    uint64_t part;
    if (__builtin_mul_overflow(buffer.iteration_bytes(i), iterations[static_cast<size_t>(i)].getNumber(), &part) ||
        __builtin_add_overflow(distance, part, &distance))
      return inputError("buffer {} moves by more bytes than there are", number);
  }
  uint64_t offset;
  if (__builtin_add_overflow(buffer.offset(), distance, &offset))
    return inputError("buffer {} moves by more bytes than there are", number);
  if (distance == 0)
    return number;
  auto [known, isNew] = moved.try_emplace({number, distance}, static_cast<uint32_t>(program.buffers_size()));
  if (isNew) {
    Buffer copy = buffer;
    copy.set_offset(offset);
    copy.clear_iteration_bytes();
    *program.add_buffers() = std::move(copy);
  }
  return known->second;
}

/// Appends the numbers of the present iterations to the name of `instruction`.
void Expander::name(Instruction &instruction) const {
  std::string suffix;
  for (const Iteration &iteration : iterations)
    suffix += fmt::format("{}{}", suffix.empty() ? " [" : ", ", iteration.getNumber());
  suffix += "]";
  instruction.set_name(instruction.name() + suffix);
  if (instruction.has_collective())
    for (CollectivePart &part : *instruction.mutable_collective()->mutable_parts())
      if (!part.name().empty())
        part.set_name(part.name() + suffix);
}

} // namespace

Status meshwright::runtime::expandLoops(meshwright::Package &package) {
  Common common;
  std::vector<Program *> programs;
  for (Program &program : *package.mutable_programs())
    programs.push_back(&program);
  if (package.has_serial())
    programs.push_back(package.mutable_serial());
  for (const Program *program : programs)
    for (const Task &task : program->tasks())
      for (const Instruction &instruction : task.instructions())
        if (std::optional<uint32_t> tag = getTag(instruction))
          common.numTags = std::max<uint64_t>(common.numTags, uint64_t(*tag) + 1);
  for (Program *program : programs) {
    std::string context = program == programs.back() && package.has_serial() ? "serial program" : "a program";
    MW_TRY(Expander(*program, common).run().within(context));
  }
  return {};
}
