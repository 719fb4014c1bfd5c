//===- Gradients.cpp - values on their way to a gradient ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Gradients.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;

bool meshwright::becomesGradient(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (net::getUserName(op).starts_with(net::kGradientPrefix) || dist::defersReduction(op) ||
        isa<dist::AccumulateOp>(op))
      return true;
    if (!value.hasOneUse() || value.use_begin()->getOwner()->getNumResults() != 1)
      return false;
    value = value.use_begin()->getOwner()->getResult(0);
  }
  return false;
}
