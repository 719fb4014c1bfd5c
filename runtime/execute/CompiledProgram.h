//===- CompiledProgram.h - a program with its addresses ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program that an executor runs. A task is there once for every micro-batch of its period: with addresses of their
// own, and without any work in the step.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTE_COMPILEDPROGRAM_H
#define MESHWRIGHT_RUNTIME_EXECUTE_COMPILEDPROGRAM_H

#include "meshwright/runtime/CollectiveTags.h"
#include "meshwright/runtime/Executor.h"
#include <map>

namespace meshwright::runtime {

/// An instruction as the number under which it was described, as small as can be: a step walks the list from end to
/// end.
struct CompiledInstruction {
  enum class Kind : uint8_t {
    Done, // by the instruction before
    Kernel,
    Matmul,
    Convolution,
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
  bool isOnce = false; // of Start and Wait: there is one of it in a step, not one for each micro-batch
  uint32_t number = 0; // of the device or communicator; the coordinate's value
  union {
    std::byte *to;     // of Coordinate and MicroBatch
    uint32_t *started; // of Start and Wait, see below; null where `number` says it all
  };
};

using CompiledTask = std::vector<CompiledInstruction>;

/// An item of the schedule. Instructions are those of the source in their order.
struct CompiledItem {
  const CompiledTask *task;
  const Task *source;
  uint32_t microBatch, firstStep, endStep;

  bool runsAt(uint32_t position) const { return firstStep <= position && position < endStep; }
};

class CompiledProgram {
public:
  explicit CompiledProgram(const ExecutorContext &context);

  /// Prepares all that the schedule runs.
  Status compile();
  const std::vector<CompiledItem> &getItems() const { return items; }
  std::byte *getAddress(uint32_t buffer, uint32_t microBatch = 0) const;

private:
  Result<const CompiledTask *> getTask(uint32_t task, uint32_t microBatch);
  Status compileTask(uint32_t number, uint32_t microBatch, CompiledTask &compiled);
  Result<CompiledInstruction> compileInstruction(uint32_t task, const Instruction &instruction, uint32_t microBatch);
  Result<CompiledInstruction> prepare(const Instruction &instruction, uint32_t microBatch);
  Result<uint32_t> prepareKernel(const Kernel &kernel, uint32_t microBatch);
  Result<uint32_t> prepareMatmul(const Instruction &instruction, uint32_t microBatch);
  Result<uint32_t> prepareConvolution(const Instruction &instruction, uint32_t microBatch);
  Result<CompiledInstruction> prepareCopy(const Copy &copy, uint32_t microBatch);
  Result<uint32_t> prepareCollective(const Instruction &instruction, uint32_t microBatch);
  CompiledInstruction compileWait(uint32_t task, uint32_t tag);
  /// Lets a Start or Wait know the place of its flight, if they are in different tasks.
  void connect(CompiledInstruction &compiled, uint32_t flight);

  const ExecutorContext &context;
  uint32_t microBatches;
  CollectiveTags tags;
  std::vector<CompiledItem> items;
  /// The tasks by number and micro-batch of their period.
  std::map<std::pair<uint32_t, uint32_t>, CompiledTask> tasks;
  /// The prepared instructions, by micro-batch of their period: one without slots is prepared once.
  std::map<std::pair<const Instruction *, uint32_t>, CompiledInstruction> prepared;
  /// Collectives and copies that the task that is being compiled has started, by their tags.
  std::map<uint32_t, uint32_t> startedHere;
  std::map<uint32_t, CompiledInstruction> copiesHere;
  /// The number of the collective that a task started for another one to wait for, by flight, then by micro-batch.
  std::map<uint32_t, std::vector<uint32_t>> started;
};

} // namespace meshwright::runtime

#endif
