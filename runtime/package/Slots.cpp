//===- Slots.cpp - buffers of several micro-batches -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Slots.h"
#include <numeric>

using namespace meshwright;

bool runtime::overlap(const Buffer &a, const Buffer &b) {
  bool alike = getSlots(a) == getSlots(b) && a.slot_bytes() == b.slot_bytes();
  uint64_t lengthA = alike ? a.bytes() : getExtent(a), lengthB = alike ? b.bytes() : getExtent(b);
  return a.offset() < b.offset() + lengthB && b.offset() < a.offset() + lengthA;
}

uint32_t runtime::joinPeriods(uint32_t a, uint32_t b, uint32_t microBatches) {
  uint64_t joined = std::lcm(uint64_t(a), uint64_t(b));
  return static_cast<uint32_t>(std::min<uint64_t>(joined, microBatches));
}

uint32_t runtime::getPeriod(const Program &program, const Instruction &instruction, uint32_t microBatches) {
  uint32_t period = 1;
  forEachAccess(instruction, [&](uint32_t buffer, bool) {
    period = joinPeriods(period, getSlots(program.buffers(static_cast<int>(buffer))), microBatches);
  });
  return period;
}

uint32_t runtime::getPeriod(const Program &program, const Task &task, uint32_t microBatches) {
  uint32_t period = 1;
  for (const Instruction &instruction : task.instructions())
    period = joinPeriods(period, getPeriod(program, instruction, microBatches), microBatches);
  return period;
}
