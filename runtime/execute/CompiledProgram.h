//===- CompiledProgram.h - a program with its addresses ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program that an executor runs. A task is there once for every micro-batch of its period: with addresses of their
// own, and without any work in the step. Loops whose iterations do not need each other are divided among the threads of
// the rank.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTE_COMPILEDPROGRAM_H
#define MESHWRIGHT_RUNTIME_EXECUTE_COMPILEDPROGRAM_H

#include "OperandVersions.h"
#include "ParallelLoops.h"
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
  uint32_t number = 0; // of the device (of its thread's, in a loop) or communicator; the coordinate's value
  union {
    std::byte *to;     // of Coordinate and MicroBatch
    uint32_t *started; // of Start and Wait, see below; null where `number` says it all
  };
};

struct CompiledTask {
  std::vector<CompiledInstruction> instructions;
  /// Those that threads share, in ascending order.
  std::vector<ParallelLoop> loops;
};

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
  /// The devices of the threads that share loops; none if there are no such loops.
  const std::vector<std::unique_ptr<Device>> &getThreadDevices() const { return threadDevices; }
  /// The memory of all copies of private places.
  uint64_t getPrivateBytes() const { return privateBytes; }
  std::byte *getAddress(uint32_t buffer, uint32_t microBatch = 0) const;

private:
  /// The device that is asked for an instruction, for which micro-batch of its period, and the private places whose
  /// copy its thread uses, if it has one; of a product the version of its right operand.
  struct Target {
    Device &device;
    uint32_t microBatch;
    const PrivatePlaces *places = nullptr;
    uint64_t rhsVersion = 0;
  };

  Status shareLoops();
  uint32_t getPeriodOf(uint32_t task) const;
  Result<const CompiledTask *> getTask(uint32_t task, uint32_t microBatch);
  Status compileTask(uint32_t number, uint32_t microBatch, CompiledTask &compiled);
  Status compileLoop(const Task &task, uint32_t microBatch, const ParallelLoop &loop, CompiledTask &compiled);
  Result<CompiledInstruction> compileInstruction(uint32_t task, const Instruction &instruction, uint32_t microBatch,
                                                 uint64_t rhsVersion);
  Result<CompiledInstruction> prepare(const Instruction &instruction, const Target &target);
  Result<uint32_t> prepareKernel(const Kernel &kernel, const Target &target);
  Result<uint32_t> prepareMatmul(const Instruction &instruction, const Target &target);
  Result<uint32_t> prepareConvolution(const Instruction &instruction, const Target &target);
  Result<CompiledInstruction> prepareCopy(const Copy &copy, const Target &target);
  Result<uint32_t> prepareCollective(const Instruction &instruction, const Target &target);
  CompiledInstruction compileWait(uint32_t task, uint32_t tag);
  std::byte *getAddress(uint32_t buffer, const Target &target) const;
  /// Lets a Start or Wait know the place of its flight, if they are in different tasks.
  void connect(CompiledInstruction &compiled, uint32_t flight);

  const ExecutorContext &context;
  uint32_t microBatches;
  CollectiveTags tags;
  OperandVersions versions;
  std::vector<std::unique_ptr<Device>> threadDevices;
  uint64_t privateBytes = 0;
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
