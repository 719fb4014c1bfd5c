//===- Slots.h - buffers of several micro-batches ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of several micro-batches that are alive at once in a pipeline lie in the slots of a buffer. The addresses of
// an instruction, or of a task, repeat with a *period* of micro-batches.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SLOTS_H
#define MESHWRIGHT_RUNTIME_SLOTS_H

#include "package.pb.h"
#include <algorithm>
#include <cstdint>

namespace meshwright::runtime {

inline uint32_t getSlots(const Buffer &buffer) { return std::max(buffer.slots(), 1u); }

/// The offset of the buffer in its arena in a task for that micro-batch.
inline uint64_t getOffset(const Buffer &buffer, uint32_t microBatch) {
  return buffer.offset() + (buffer.slots() > 1 ? microBatch % buffer.slots() * buffer.slot_bytes() : 0);
}

/// The bytes from the beginning of the first slot to the end of the last.
inline uint64_t getExtent(const Buffer &buffer) {
  return buffer.bytes() + (getSlots(buffer) - 1) * buffer.slot_bytes();
}

/// True if two buffers of one memory overlap in some micro-batch. If their slots are not alike, all slots count.
bool overlap(const Buffer &a, const Buffer &b);

/// Calls fn(buffer, isWrite) for every buffer that an instruction names, those of a product's epilogue too.
template <typename Fn> void forEachAccess(const Instruction &instruction, Fn &&fn) {
  const auto &arguments = instruction.kernel().arguments();
  int firstOutput = arguments.size() - static_cast<int>(instruction.kernel().outputs());
  for (int i = 0; i != arguments.size(); ++i)
    fn(arguments[i], i >= firstOutput);
  if (instruction.has_matmul()) {
    fn(instruction.matmul().lhs(), false);
    fn(instruction.matmul().rhs(), false);
    fn(instruction.matmul().out(), true);
    const Epilogue &epilogue = instruction.matmul().epilogue();
    if (epilogue.has_bias())
      fn(epilogue.bias(), false);
    if (epilogue.has_preactivation())
      fn(epilogue.preactivation(), true);
    if (instruction.matmul().has_epilogue())
      fn(epilogue.out(), true);
  }
  if (instruction.has_convolution()) {
    fn(instruction.convolution().lhs(), false);
    fn(instruction.convolution().rhs(), false);
    fn(instruction.convolution().out(), true);
  }
  for (const CollectivePart &part : instruction.collective().parts()) {
    if (part.has_in())
      fn(part.in(), false);
    if (part.has_out())
      fn(part.out(), true);
  }
  if (instruction.has_copy()) {
    fn(instruction.copy().from(), false);
    fn(instruction.copy().to(), true);
  }
  if (instruction.has_coordinate())
    fn(instruction.coordinate().buffer(), true);
  if (instruction.has_micro_batch())
    fn(instruction.micro_batch().buffer(), true);
}

/// After so many micro-batches both a and b repeat; `microBatches` where that is more.
uint32_t joinPeriods(uint32_t a, uint32_t b, uint32_t microBatches);
/// The period of a checked instruction, or of a task, in steps of so many micro-batches.
uint32_t getPeriod(const Program &program, const Instruction &instruction, uint32_t microBatches);
uint32_t getPeriod(const Program &program, const Task &task, uint32_t microBatches);

} // namespace meshwright::runtime

#endif
