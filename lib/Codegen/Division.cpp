//===- Division.cpp - a kernel's iterations among threads -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/Division.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using namespace meshwright::emit;

/// A loop with so many parts of the size of a grain is divided evenly enough.
static constexpr int64_t kManyParts = 16;
/// The grain of the innermost loop: a multiple of a vector, and of a line of the cache for elements of any type.
static constexpr int64_t kInnermostGrain = 64;

/// True if the elements that `reduction` adds to are told apart by loops alone, `loop` among them.
static bool isAddedByOne(const KernelPlan &plan, const Reduction &reduction, unsigned loop, RankedTensorType output) {
  int64_t elements = 1;
  for (auto [variable, coefficient] : reduction.position.terms) {
    if (plan.variables[variable].kind != Variables::Loop)
      return false;
    elements *= plan.variables[variable].extent;
  }
  return reduction.position.uses(loop) && elements == output.getNumElements();
}

static bool canDivide(const KernelPlan &plan, size_t depth, ArrayRef<RankedTensorType> outputs) {
  unsigned loop = plan.loops[depth];
  bool isAdded = llvm::all_of(plan.reductions, [&](const Reduction &reduction) {
    return reduction.row ? depth < plan.numRowLoops : isAddedByOne(plan, reduction, loop, outputs[*reduction.output]);
  });
  return isAdded && llvm::all_of(plan.stores, [&](const Store &store) { return store.position.uses(loop); });
}

std::optional<Division> emit::chooseDivision(const KernelPlan &plan, ArrayRef<RankedTensorType> outputs) {
  std::optional<Division> best;
  for (size_t depth = 0; depth < plan.loops.size(); ++depth) {
    if (!canDivide(plan, depth, outputs))
      continue;
    bool isInnermost = depth + 1 == plan.loops.size() && depth >= plan.numRowLoops;
    Division division = {plan.loops[depth], plan.variables[plan.loops[depth]].extent,
                         isInnermost ? kInnermostGrain : 1};
    int64_t parts = division.iterations / division.grain;
    if (parts >= 2 && (!best || parts > best->iterations / best->grain))
      best = division;
    if (parts >= kManyParts)
      break;
  }
  return best;
}
