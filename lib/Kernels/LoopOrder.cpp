//===- LoopOrder.cpp - keeps loop bodies contiguous -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopOrder.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

/// The position of an operation's kind in a loop's body.
static unsigned getRank(Operation *op) {
  if (isa<net::LoopOp>(op))
    return 0;
  if (isa<net::CarryOp>(op))
    return 1;
  if (isa<net::NextOp>(op))
    return 3;
  return 2;
}

SmallVector<unsigned> schedule::keepBodiesTogether(ArrayRef<Operation *> order, const net::LoopNest &nest) {
  llvm::DenseMap<Operation *, SmallVector<unsigned>> bodies;
  for (auto [index, op] : llvm::enumerate(order)) {
    net::LoopOp loop = nest.getLoop(op);
    if (!isa<net::EndLoopOp>(op)) {
      bodies[loop].push_back(index);
      continue;
    }
    SmallVector<unsigned> body = std::move(bodies[loop]);
    // A loop inside is a run of its own, which its first operation has the rank of the rest in.
    SmallVector<unsigned> parts[4];
    for (unsigned member : body)
      parts[nest.getLoop(order[member]) == loop ? getRank(order[member]) : 2].push_back(member);
    SmallVector<unsigned> &outer = bodies[nest.getParent(loop)];
    for (ArrayRef<unsigned> part : parts)
      llvm::append_range(outer, part);
    outer.push_back(index);
  }
  return bodies[nullptr];
}
