//===- Elementwise.cpp - elementwise operations of StableHLO and CHLO -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "Known.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// What net calls the same.
static constexpr StringLiteral kUnary[] = {
    "abs",      "cbrt",        "ceil",
    "cosine",   "exponential", "exponential_minus_one",
    "floor",    "log",         "log_plus_one",
    "logistic", "negate",      "not",
    "rsqrt",    "sign",        "sine",
    "sqrt",     "tan",         "tanh",
    "erf",      "erfc",        "round_nearest_even",
};
static constexpr StringLiteral kBinary[] = {
    "add",
    "and",
    "atan2",
    "divide",
    "maximum",
    "minimum",
    "multiply",
    "or",
    "power",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "subtract",
    "xor",
};

/// Checks that the operands and the result have one type.
static LogicalResult expectOneType(Conversion &conversion) {
  for (Value operand : conversion.getOp()->getOperands())
    if (operand.getType() != conversion.getType())
      return conversion.error() << "combines an operand of " << operand.getType() << " into a result of "
                                << conversion.getType();
  return success();
}

static Converted convertUnary(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectOneType(conversion)))
    return failure();
  std::string name = ("net." + conversion.getName().split('.').second).str();
  return SmallVector<Value>{conversion.createNamed(name, conversion.getType(), conversion.getOp()->getOperands())};
}

/// On i1 arithmetic is logical: a sum is `or`, a product `and`.
static StringRef getLogical(StringRef mnemonic) {
  return llvm::StringSwitch<StringRef>(mnemonic)
      .Cases({"add", "maximum"}, "or")
      .Cases({"multiply", "minimum"}, "and")
      .Default(mnemonic);
}

static Converted convertBinary(Conversion &conversion) {
  if (failed(conversion.expect(2)) || failed(expectOneType(conversion)))
    return failure();
  StringRef mnemonic = conversion.getName().split('.').second;
  if (conversion.getType().getElementType().isInteger(1))
    mnemonic = getLogical(mnemonic);
  std::string name = ("net." + mnemonic).str();
  return SmallVector<Value>{conversion.createNamed(name, conversion.getType(), conversion.getOp()->getOperands())};
}

static Converted convertSquare(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectOneType(conversion)))
    return failure();
  Value operand = conversion.getOp()->getOperand(0);
  return SmallVector<Value>{conversion.create<net::MultiplyOp>(conversion.getType(), operand, operand)};
}

/// The inverse of the error function at `x`, of magnitude at most 1: a guess that is right to a few thousandths
/// (Winitzki, A handy approximation for the error function and its inverse, 2008), then steps of Halley's method, each
/// of which triples the digits. Near 1 the distance to it is exact, so that there the complementary function is what is
/// inverted.
static Value invertErf(net::NetBuilder &b, Value x) {
  constexpr double kShape = 0.147, kPi = 3.14159265358979323846;
  constexpr int kSteps = 2;
  Value one = b.splatLike(x, 1), magnitude = b.unary<net::AbsOp>(x), rest = b.subtract(one, magnitude);
  Value logarithm = b.unary<net::LogOp>(b.multiply(rest, b.add(one, magnitude)));
  Value middle = b.add(b.splatLike(x, 2 / (kPi * kShape)), b.scale(logarithm, 0.5));
  Value root = b.unary<net::SqrtOp>(b.subtract(b.multiply(middle, middle), b.scale(logarithm, 1 / kShape)));
  Value y = b.unary<net::SqrtOp>(b.subtract(root, middle));
  Value isSmall = b.compare(net::CompareDirection::Lt, magnitude, b.splatLike(x, 0.5));
  for (int step = 0; step < kSteps; ++step) {
    Value error =
        b.select(isSmall, b.subtract(b.unary<net::ErfOp>(y), magnitude), b.subtract(rest, b.unary<net::ErfcOp>(y)));
    Value slope = b.scale(b.unary<net::ExpOp>(b.negate(b.multiply(y, y))), 2 / std::sqrt(kPi));
    Value newton = b.divide(error, slope);
    y = b.subtract(y, b.divide(newton, b.add(one, b.multiply(y, newton))));
  }
  Value isOne = b.compare(net::CompareDirection::Eq, magnitude, one);
  y = b.select(isOne, b.splatLike(x, std::numeric_limits<double>::infinity()), y);
  return b.multiply(b.unary<net::SignOp>(x), y);
}

static Converted convertErfInv(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectOneType(conversion)))
    return failure();
  auto element = dyn_cast<FloatType>(conversion.getType().getElementType());
  if (!element)
    return conversion.error() << "is of " << conversion.getType() << ", not of floats";
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  Value x = conversion.getOp()->getOperand(0);
  // Digits that 16 bits do not hold are lost once, at the end.
  if (element.getWidth() < 32)
    x = b.convert(x, b.builder.getF32Type());
  return SmallVector<Value>{b.convert(invertErf(b, x), element)};
}

/// Checks that an operation's operands and result have one shape.
static LogicalResult expectOneShape(Conversion &conversion) {
  for (Value operand : conversion.getOp()->getOperands())
    if (cast<RankedTensorType>(operand.getType()).getShape() != conversion.getType().getShape())
      return conversion.error() << "combines an operand of " << operand.getType() << " into a result of "
                                << conversion.getType();
  return success();
}

static Converted convertConvert(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectOneShape(conversion)))
    return failure();
  Value operand = conversion.getOp()->getOperand(0);
  if (operand.getType() == conversion.getType())
    return SmallVector<Value>{operand};
  return SmallVector<Value>{conversion.create<net::ConvertOp>(conversion.getType(), operand)};
}

static Converted convertIsFinite(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectOneShape(conversion)))
    return failure();
  if (!isa<FloatType>(conversion.getOperandType(0).getElementType()) ||
      !conversion.getType().getElementType().isInteger(1))
    return conversion.error() << "turns " << conversion.getOperandType(0) << " into " << conversion.getType();
  return SmallVector<Value>{
      conversion.create<net::IsFiniteOp>(conversion.getType(), conversion.getOp()->getOperand(0))};
}

/// Checks that a comparison of that kind is what net makes of the element type by itself.
static LogicalResult expectKind(Conversion &conversion, StringRef kind) {
  Type element = conversion.getOperandType(0).getElementType();
  bool isUnsigned = element.isInteger(1) || element.isUnsignedInteger();
  StringRef own = isa<FloatType>(element) ? "FLOAT" : isUnsigned ? "UNSIGNED" : "SIGNED";
  if (kind == own || (kind == "TOTALORDER" && own == "FLOAT"))
    return success();
  return conversion.error() << "compares elements of " << element << " as " << kind << ", not as " << own;
}

static Converted convertCompare(Conversion &conversion) {
  if (failed(conversion.expect(2)) || failed(expectOneShape(conversion)))
    return failure();
  if (conversion.getOperandType(0) != conversion.getOperandType(1) ||
      !conversion.getType().getElementType().isInteger(1))
    return conversion.error() << "compares " << conversion.getOperandType(0) << " with " << conversion.getOperandType(1)
                              << " into " << conversion.getType();
  FailureOr<StringRef> word = conversion.getWord("comparison_direction");
  if (failed(word))
    return failure();
  std::optional<net::CompareDirection> direction = net::symbolizeCompareDirection(word->lower());
  if (!direction)
    return conversion.error() << "compares in direction " << *word << ", which is not EQ, NE, LT, LE, GT or GE";
  StringRef kind;
  if (auto attribute = conversion.getOp()->getAttrOfType<StringAttr>("compare_type"))
    kind = attribute.getValue();
  if (!kind.empty() && kind != "NOTYPE" && failed(expectKind(conversion, kind)))
    return failure();
  Operation *op = conversion.getOp();
  return SmallVector<Value>{conversion.create<net::CompareOp>(conversion.getType(), *direction, op->getOperand(0),
                                                              op->getOperand(1), kind == "TOTALORDER")};
}

static Converted convertSelect(Conversion &conversion) {
  if (failed(conversion.expect(3)))
    return failure();
  Operation *op = conversion.getOp();
  RankedTensorType predicate = conversion.getOperandType(0), type = conversion.getType();
  bool isScalar = predicate.getRank() == 0;
  if (!predicate.getElementType().isInteger(1) || (!isScalar && predicate.getShape() != type.getShape()) ||
      conversion.getOperandType(1) != type || conversion.getOperandType(2) != type)
    return conversion.error() << "selects by " << predicate << " among " << conversion.getOperandType(1) << " and "
                              << conversion.getOperandType(2) << " for " << type;
  Value condition = op->getOperand(0);
  if (isScalar && type.getRank() != 0)
    condition = conversion.broadcast(condition, type.getShape(), {});
  return SmallVector<Value>{conversion.create<net::SelectOp>(type, condition, op->getOperand(1), op->getOperand(2))};
}

static const ConverterMap &getConverters() {
  static const ConverterMap converters = [] {
    ConverterMap map;
    for (StringRef mnemonic : kUnary) {
      bool isCHLO = mnemonic == "erf" || mnemonic == "erfc";
      map[((isCHLO ? "chlo." : "stablehlo.") + mnemonic).str()] = convertUnary;
    }
    for (StringRef mnemonic : kBinary)
      map[("stablehlo." + mnemonic).str()] = convertBinary;
    map["chlo.tan"] = convertUnary;
    map["chlo.square"] = convertSquare;
    map["chlo.erf_inv"] = convertErfInv;
    map["stablehlo.convert"] = convertConvert;
    map["stablehlo.is_finite"] = convertIsFinite;
    map["stablehlo.select"] = convertSelect;
    return map;
  }();
  return converters;
}

bool importer::isElementwise(StringRef name) { return getConverters().contains(name); }

void importer::addElementwise(ConverterMap &converters) {
  for (const auto &entry : getConverters())
    converters[entry.getKey()] = entry.getValue();
  converters["stablehlo.compare"] = convertCompare;
}
