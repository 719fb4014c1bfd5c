//===- SharedWork.cpp - collectives in memory that all reach --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SharedWork.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

Status SharedWork::perform(Calls calls, size_t position) {
  const CollectiveCall &call = *calls[position];
  for (size_t part = 0; part != call.parts.size(); ++part)
    MW_TRY(isReducing(call.kind) ? reducePart(calls, position, part) : movePart(calls, position, part));
  return {};
}

Status SharedWork::reducePart(Calls calls, size_t position, size_t index) {
  const CollectiveCall &call = *calls[position];
  const CallPart &part = call.parts[index];
  uint64_t n = calls.size(), size = getSize(call.type);
  if (hasOperandPerMember(call.kind)) {
    for (uint64_t i = 0; i != n; ++i)
      inputs[i] = calls[i]->parts[index].in + position * part.count * size;
    return reduce(inputs, std::span(&part.out, 1), 0, part.count);
  }
  for (uint64_t i = 0; i != n; ++i) {
    inputs[i] = calls[i]->parts[index].in;
    outputs[i] = calls[i]->parts[index].out;
  }
  std::span<std::byte *const> wanted = outputs;
  if (call.kind == Collective::REDUCE)
    wanted = wanted.subspan(part.root, 1);
  // Slices begin at multiples of a cache line, so that no line has two writers.
  uint64_t line = 64 / size;
  uint64_t slice = ((part.count + n - 1) / n + line - 1) / line * line;
  uint64_t begin = std::min(position * slice, part.count), end = std::min(begin + slice, part.count);
  return reduce(inputs, wanted, begin, end);
}

Status SharedWork::movePart(Calls calls, size_t position, size_t index) {
  const CollectiveCall &call = *calls[position];
  const CallPart &part = call.parts[index];
  uint64_t bytes = part.count * getSize(call.type);
  if (hasRoot(call.kind)) {
    if (!part.out || part.out == part.in || bytes == 0)
      return {};
    return copy(part.out, calls[part.root]->parts[index].in, bytes);
  }
  uint64_t offset = hasOperandPerMember(call.kind) ? position * bytes : 0;
  for (uint64_t i = 0; i != calls.size() && bytes != 0; ++i)
    MW_TRY(copy(part.out + i * bytes, calls[i]->parts[index].in + offset, bytes));
  return {};
}
