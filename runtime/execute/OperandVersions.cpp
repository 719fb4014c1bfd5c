//===- OperandVersions.cpp - operands that products share -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandVersions.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

void OperandVersions::begin(uint32_t ofMicroBatch) {
  microBatch = ofMicroBatch;
  known = {};
}

uint64_t OperandVersions::find(const Buffer &buffer) {
  uint64_t begin = getOffset(buffer, microBatch), end = begin + buffer.bytes();
  auto same = std::ranges::find_if(known, [&](const Version &version) {
    return version.number != 0 && version.begin == begin && version.end == end;
  });
  // The first one is that which was read last.
  Version version = same == known.end() ? Version{begin, end, ++last} : *same;
  std::shift_right(known.begin(), same == known.end() ? same : same + 1, 1);
  known.front() = version;
  return version.number;
}

void OperandVersions::forget(const Buffer &written) {
  uint64_t begin = getOffset(written, microBatch), end = begin + written.bytes();
  for (Version &version : known)
    if (version.begin < end && begin < version.end)
      version = {};
}

uint64_t OperandVersions::next(const Instruction &instruction) {
  auto get = [&](uint32_t buffer) -> const Buffer & { return program.buffers(static_cast<int>(buffer)); };
  // Others may write after they have been issued.
  bool isDone = instruction.has_kernel() || instruction.has_matmul() || instruction.has_convolution() ||
                (instruction.has_copy() && !instruction.copy().start());
  if (!isDone)
    known = {};
  bool isOfDevice = instruction.has_matmul() && get(instruction.matmul().rhs()).memory() == DEVICE;
  uint64_t number = isOfDevice ? find(get(instruction.matmul().rhs())) : 0;
  forEachAccess(instruction, [&](uint32_t buffer, bool isWrite) {
    if (isWrite && get(buffer).memory() == DEVICE)
      forget(get(buffer));
  });
  return number;
}
