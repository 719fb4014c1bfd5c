//===- Sequence.cpp - finds the sum that enters the first block -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sequence.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;

/// True if the placement of `variable` mentions `axis`.
static bool isSplitOver(net::VariableOp variable, StringRef axis) {
  auto mapping = dist::kMappingAttr.get(variable);
  if (!mapping)
    return false;
  bool found = false;
  mapping.walk([&](StringAttr name) { found |= name == axis; });
  return found;
}

std::optional<std::pair<Value, unsigned>> annotate::findBlockInput(func::FuncOp func, StringRef axis) {
  // Split weights and values computed from one alone; and values that depend on an input.
  llvm::DenseSet<Value> weights, data;
  for (BlockArgument argument : func.getArguments())
    data.insert(argument);
  Value sum;
  SymbolTableCollection symbols;
  for (Operation &op : func.getBody().front()) {
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      auto variable = symbols.lookupNearestSymbolFrom<net::VariableOp>(&op, read.getVariableAttr());
      if (variable && isSplitOver(variable, axis))
        weights.insert(read);
      continue;
    }
    bool fromData = llvm::any_of(op.getOperands(), [&](Value operand) { return data.contains(operand); });
    bool fromWeight = llvm::any_of(op.getOperands(), [&](Value operand) { return weights.contains(operand); });
    if (fromData && fromWeight && isa<net::DotOp>(op))
      break;
    for (Value result : op.getResults()) {
      if (fromData)
        data.insert(result);
      else if (fromWeight)
        weights.insert(result);
    }
    auto add = dyn_cast<net::AddOp>(op);
    if (add && fromData && cast<RankedTensorType>(add.getType()).getRank() >= 3 &&
        isa<FloatType>(getElementTypeOrSelf(add.getType())))
      sum = add;
  }
  if (!sum)
    return std::nullopt;
  return std::make_pair(sum, 1u);
}
