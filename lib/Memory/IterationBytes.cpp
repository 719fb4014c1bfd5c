//===- IterationBytes.cpp - places of values that move with loop iterations ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/IterationBytes.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Support/Bytes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

bool schedule::hasAlignedParts(Value part) { return getBytes(cast<RankedTensorType>(part.getType())) % 64 == 0; }

bool schedule::isReadInPlace(net::TakeOp take) {
  return hasAlignedParts(take.getResult()) || getBytes(take.getType()) < 64;
}

/// Adds the bytes by which an iteration of `loop` moves the place.
static SmallVector<int64_t> add(SmallVector<int64_t> bytes, net::LoopOp loop, int64_t more, const net::LoopNest &nest) {
  size_t depth = 0;
  for (net::LoopOp around = nest.getParent(loop); around; around = nest.getParent(around))
    ++depth;
  bytes.resize(std::max(bytes.size(), depth + 1), 0);
  bytes[depth] += more;
  while (!bytes.empty() && bytes.back() == 0)
    bytes.pop_back();
  return bytes;
}

SmallVector<int64_t> schedule::getIterationBytes(Value value, const net::LoopNest &nest) {
  auto result = dyn_cast<OpResult>(value);
  Operation *op = value.getDefiningOp();
  if (!result || !nest.getLoop(op))
    return {};
  if (auto view = dyn_cast<dist::ViewOp>(op))
    return getIterationBytes(view.getInput(), nest);
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    return getIterationBytes(wait.getHandles()[result.getResultNumber()], nest);
  if (auto take = dyn_cast<net::TakeOp>(op); take && isReadInPlace(take))
    return getPartIterationBytes(take, take.getStack(), value, nest);
  auto own = dist::kIterationBytesAttr.get(op);
  return own ? add({}, nest.getLoop(op), own[result.getResultNumber()], nest) : SmallVector<int64_t>();
}

SmallVector<int64_t> schedule::getPartIterationBytes(Operation *op, Value stack, Value part,
                                                     const net::LoopNest &nest) {
  int64_t bytes = getBytes(cast<RankedTensorType>(part.getType()));
  return add(getIterationBytes(stack, nest), nest.getLoop(op), bytes, nest);
}
