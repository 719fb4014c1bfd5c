//===- Widening.cpp - finds conversions that widen a gradient -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Widening.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// True if a value has a single use, so that a sum of such values is a tree.
static bool isMadeFor(Value value) { return value.getDefiningOp() && value.hasOneUse(); }

/// Collects the conversions and additions that compute `value`. Returns true if one of them is a conversion.
bool Widening::collect(Value value) {
  Operation *op = value.getDefiningOp();
  bool isConverted = false;
  if (auto convert = dyn_cast<net::ConvertOp>(op); convert && net::isFloat(convert.getOperand())) {
    sources.insert(net::elementTypeOf(convert.getOperand()));
    isConverted = true;
  } else if (isa<net::AddOp>(op) && llvm::all_of(op->getOperands(), isMadeFor)) {
    for (Value operand : op->getOperands())
      isConverted |= collect(operand);
  } else {
    sources.insert(net::elementTypeOf(value));
  }
  if (isConverted)
    ops.push_back(op);
  return isConverted;
}

void Widening::setDefersReduction() const {
  for (Operation *op : ops)
    dist::setDefersReduction(op);
}
