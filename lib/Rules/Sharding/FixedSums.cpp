//===- FixedSums.cpp - sums of floats in a fixed order ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a function with `net.sum_parts` the bits of a sum must not depend on how it is split. So it is split into whole
// parts, which a tree adds on one rank as on many, and every reduction takes place where the serial program adds: a
// partial sum passes what moves its elements, which rounds nothing, and no arithmetic.
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// True if sums of the function around `op` have a fixed order.
static bool isInFixedFunction(Operation *op) {
  auto func = op->getParentOfType<func::FuncOp>();
  return func && net::kSumPartsAttr.isOn(func);
}

void sharding::fixOrder(ShardingRule &rule, Operation *op, ArrayRef<unsigned> summed) {
  if (auto parts = net::kSumPartsAttr.get(op))
    for (auto [index, number] : llvm::enumerate(summed)) {
      FactorInfo &factor = rule.factors[number];
      factor.reduction = ReduceKind::Tree;
      factor.levels = llvm::Log2_64(static_cast<uint64_t>(parts.getInt()));
      bool isEven = factor.size % parts.getInt() == 0;
      factor.splittable &= index == 0 && parts.getInt() > 1 && (isEven || factor.uneven);
      factor.uneven &= !isEven;
    }
  if (!isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) || !isInFixedFunction(op))
    return;
  // Operations that move elements pass products too.
  auto moves = [](const PartialRule &partial) { return partial.kind == ReduceKind::Product; };
  if (llvm::none_of(rule.partials, moves))
    llvm::erase_if(rule.partials, [](const PartialRule &partial) { return partial.kind == ReduceKind::Sum; });
}
