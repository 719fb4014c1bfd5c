//===- FoldConstants.cpp - arithmetic of constants, as formats round ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioners fold the arithmetic of constants: where the serial text takes the root of 8, theirs has 2.82842708.
// Exact arithmetic knows no rounding, and would tell the two apart. So arithmetic that IEEE 754 rounds in one way is
// folded in both programs.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Import/Partitioned.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// The float that every element of `value` is; nothing if that is no constant.
static std::optional<APFloat> getFloat(Value value) {
  net::ConstantOp constant = net::getConstant(value);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>();
}

/// The root, which is rounded as that of the double is, since a double has more than twice as many digits; nothing for
/// numbers that have none.
static std::optional<APFloat> getRoot(const APFloat &number) {
  bool lost;
  APFloat root = number;
  root.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  if (!root.isFiniteNonZero() || root.isNegative())
    return std::nullopt;
  root = APFloat(std::sqrt(root.convertToDouble()));
  root.convert(number.getSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return root;
}

/// The value of an operation on constants.
static std::optional<APFloat> compute(Operation *op, ArrayRef<APFloat> operands) {
  APFloat result = operands.front();
  constexpr auto nearest = APFloat::rmNearestTiesToEven;
  return llvm::TypeSwitch<Operation *, std::optional<APFloat>>(op)
      .Case<net::AddOp>([&](auto) { return result.add(operands[1], nearest), result; })
      .Case<net::SubtractOp>([&](auto) { return result.subtract(operands[1], nearest), result; })
      .Case<net::MultiplyOp>([&](auto) { return result.multiply(operands[1], nearest), result; })
      .Case<net::DivideOp>([&](auto) { return result.divide(operands[1], nearest), result; })
      .Case<net::NegateOp>([&](auto) { return result.changeSign(), result; })
      .Case<net::SqrtOp>([&](auto) { return getRoot(result); })
      .Default([](Operation *) { return std::nullopt; });
}

void importer::foldConstants(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumOperands() == 0 || op->getNumResults() != 1)
      return;
    SmallVector<APFloat> operands;
    for (Value operand : op->getOperands()) {
      std::optional<APFloat> number = getFloat(operand);
      if (!number)
        return;
      operands.push_back(*number);
    }
    std::optional<APFloat> number = compute(op, operands);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (!number || &number->getSemantics() != &cast<FloatType>(type.getElementType()).getFloatSemantics())
      return;
    OpBuilder builder(op);
    auto constant = net::ConstantOp::create(builder, op->getLoc(), type, DenseElementsAttr::get(type, *number));
    inherit(constant, op, Inherit::Replacement);
    op->replaceAllUsesWith(constant);
    op->erase();
  });
}
