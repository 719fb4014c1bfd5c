//===- FoldConstants.cpp - arithmetic of constants, as formats round ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioners fold the arithmetic of constants: where the serial text takes the root of 8, theirs has 2.82842708.
// Exact arithmetic knows no rounding, and would tell the two apart; and it compares 1 and 0 as any two residues. So
// arithmetic that IEEE 754 rounds in one way, and comparisons, are folded in both programs.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Import/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace meshwright::importer {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// The value of every element of `value`; null if that is no constant of equal ones.
static Attribute getSplat(Value value) {
  net::ConstantOp constant = net::getConstant(value);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return splat ? splat.getSplatValue<Attribute>() : Attribute();
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

static constexpr auto kNearest = APFloat::rmNearestTiesToEven;

/// The float of an operation on floats, of which there is at least one.
static std::optional<APFloat> compute(Operation *op, ArrayRef<APFloat> operands) {
  APFloat result = operands.front();
  return llvm::TypeSwitch<Operation *, std::optional<APFloat>>(op)
      .Case<net::AddOp>([&](auto) { return result.add(operands[1], kNearest), result; })
      .Case<net::SubtractOp>([&](auto) { return result.subtract(operands[1], kNearest), result; })
      .Case<net::MultiplyOp>([&](auto) { return result.multiply(operands[1], kNearest), result; })
      .Case<net::DivideOp>([&](auto) { return result.divide(operands[1], kNearest), result; })
      .Case<net::MaximumOp>([&](auto) { return llvm::maximum(result, operands[1]); })
      .Case<net::MinimumOp>([&](auto) { return llvm::minimum(result, operands[1]); })
      .Case<net::NegateOp>([&](auto) { return result.changeSign(), result; })
      .Case<net::AbsOp>([&](auto) { return llvm::abs(result); })
      .Case<net::SqrtOp>([&](auto) { return getRoot(result); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether two floats compare so; NaN is neither less, equal nor greater.
static bool holds(net::CompareDirection direction, const APFloat &x, const APFloat &y) {
  APFloat::cmpResult result = x.compare(y);
  switch (direction) {
  case net::CompareDirection::Eq:
    return result == APFloat::cmpEqual;
  case net::CompareDirection::Ne:
    return result != APFloat::cmpEqual;
  case net::CompareDirection::Lt:
    return result == APFloat::cmpLessThan;
  case net::CompareDirection::Le:
    return result == APFloat::cmpLessThan || result == APFloat::cmpEqual;
  case net::CompareDirection::Gt:
    return result == APFloat::cmpGreaterThan;
  case net::CompareDirection::Ge:
    return result == APFloat::cmpGreaterThan || result == APFloat::cmpEqual;
  }
  llvm_unreachable("a direction");
}

/// A float as an integer, cut towards zero; null if the type does not hold it.
static Attribute cut(const APFloat &number, IntegerType type) {
  if (type.getWidth() == 1)
    return BoolAttr::get(type.getContext(), !number.isZero());
  APSInt integer(type.getWidth(), type.isUnsigned());
  bool isExact;
  if (number.convertToInteger(integer, APFloat::rmTowardZero, &isExact) & APFloat::opInvalidOp)
    return {};
  return IntegerAttr::get(type, integer);
}

/// A number of type `from` in another type, from which or to which it is a float; else null.
static Attribute convert(Attribute number, Type from, Type to) {
  auto type = dyn_cast<FloatType>(to);
  if (auto value = dyn_cast<FloatAttr>(number)) {
    if (!type)
      return cut(value.getValue(), cast<IntegerType>(to));
    APFloat result = value.getValue();
    bool loses;
    result.convert(type.getFloatSemantics(), kNearest, &loses);
    return FloatAttr::get(type, result);
  }
  if (!type)
    return {};
  APFloat result(type.getFloatSemantics());
  bool isSigned = !from.isUnsignedInteger() && !from.isInteger(1);
  result.convertFromAPInt(cast<IntegerAttr>(number).getValue(), isSigned, kNearest);
  return FloatAttr::get(type, result);
}

/// The constant that every element of the result of `op` is; null if that is not known, or `op` computes on integers.
static Attribute fold(Operation *op) {
  SmallVector<Attribute> constants = llvm::map_to_vector(op->getOperands(), getSplat);
  if (!llvm::all_of(constants, [](Attribute constant) { return isa_and_nonnull<FloatAttr, IntegerAttr>(constant); }))
    return {};
  Type type = getElementTypeOrSelf(op->getResult(0));
  if (isa<net::ConvertOp>(op))
    return convert(constants[0], getElementTypeOrSelf(op->getOperand(0)), type);
  if (!llvm::all_of(constants, llvm::IsaPred<FloatAttr>))
    return {};
  auto floats = llvm::map_to_vector(constants, [](Attribute constant) { return cast<FloatAttr>(constant).getValue(); });
  if (auto comparison = dyn_cast<net::CompareOp>(op))
    return comparison.getTotalOrder()
               ? Attribute()
               : BoolAttr::get(op->getContext(), holds(comparison.getDirection(), floats[0], floats[1]));
  std::optional<APFloat> number = isa<FloatType>(type) ? compute(op, floats) : std::nullopt;
  return number ? FloatAttr::get(type, *number) : FloatAttr();
}

namespace {

struct FoldConstants : importer::impl::FoldConstantsPassBase<FoldConstants> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      bool isElementwise =
          op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() != 0 && op->getNumResults() == 1;
      Attribute number = isElementwise ? fold(op) : Attribute();
      if (!number)
        return;
      OpBuilder builder(op);
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      auto constant = net::ConstantOp::create(builder, op->getLoc(), type, DenseElementsAttr::get(type, number));
      inherit(constant, op, Inherit::Replacement);
      op->replaceAllUsesWith(constant);
      op->erase();
      ++numFolded;
    });
  }
};

} // namespace
