//===- Elementwise.cpp - elementwise operations of StableHLO and CHLO -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most elementwise operations have the same mnemonic in StableHLO, CHLO and net and only need their types checked;
// tables list them. On i1, arithmetic becomes logic. Families that need an expression are in `Functions.cpp` and
// `SpecialFunctions.cpp`.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "Known.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// Unary operations with the same name in net.
static constexpr StringLiteral kUnary[] = {
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "not",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
    "round_nearest_even",
};
/// Unary operations of CHLO with the same name in net.
static constexpr StringLiteral kCHLOUnary[] = {
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "digamma", "erf", "erfc", "lgamma", "sinh", "tan",
};
/// Unary operations that also accept integers.
static constexpr StringLiteral kOfIntegers[] = {"abs", "negate", "not", "sign"};
/// Operations that only accept integers.
static constexpr StringLiteral kOfIntegersAlone[] = {
    "and", "not", "or", "shift_left", "shift_right_arithmetic", "shift_right_logical", "xor"};
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

ArrayRef<StringLiteral> importer::getBinary() { return kBinary; }

LogicalResult importer::expectOneType(Conversion &conversion) {
  for (Value operand : conversion.getOp()->getOperands())
    if (operand.getType() != conversion.getType())
      return conversion.error() << "combines an operand of " << operand.getType() << " into a result of "
                                << conversion.getType();
  return success();
}

/// Checks that the element type, float or integer, is one that the operation accepts.
static LogicalResult expectElements(Conversion &conversion, StringRef mnemonic, bool needsFloats) {
  bool isFloat = isa<FloatType>(conversion.getType().getElementType());
  if (isFloat ? !llvm::is_contained(kOfIntegersAlone, mnemonic) : !needsFloats)
    return success();
  return conversion.error() << "is of " << conversion.getType() << ", not of " << (isFloat ? "integers" : "floats");
}

static Converted convertUnary(Conversion &conversion) {
  StringRef mnemonic = conversion.getName().split('.').second;
  if (failed(conversion.expect(1)) || failed(expectOneType(conversion)) ||
      failed(expectElements(conversion, mnemonic, !llvm::is_contained(kOfIntegers, mnemonic))))
    return failure();
  std::string name = ("net." + mnemonic).str();
  return SmallVector<Value>{conversion.createNamed(name, conversion.getType(), conversion.getOp()->getOperands())};
}

/// Arithmetic on i1 is logical: addition is `or`, multiplication is `and`.
static StringRef getLogical(StringRef mnemonic) {
  return llvm::StringSwitch<StringRef>(mnemonic)
      .Cases({"add", "maximum"}, "or")
      .Cases({"multiply", "minimum"}, "and")
      .Default(mnemonic);
}

static Converted convertBinary(Conversion &conversion) {
  StringRef mnemonic = conversion.getName().split('.').second;
  if (failed(conversion.expect(2)) || failed(expectOneType(conversion)) ||
      failed(expectElements(conversion, mnemonic, mnemonic == "atan2")))
    return failure();
  if (conversion.getType().getElementType().isInteger(1))
    mnemonic = getLogical(mnemonic);
  std::string name = ("net." + mnemonic).str();
  return SmallVector<Value>{conversion.createNamed(name, conversion.getType(), conversion.getOp()->getOperands())};
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

/// Checks that `kind` is the comparison that net derives from the element type.
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
    for (StringRef mnemonic : kUnary)
      map[("stablehlo." + mnemonic).str()] = convertUnary;
    for (StringRef mnemonic : kCHLOUnary)
      map[("chlo." + mnemonic).str()] = convertUnary;
    for (StringRef mnemonic : kBinary)
      map[("stablehlo." + mnemonic).str()] = convertBinary;
    addFunctions(map);
    addSpecialFunctions(map);
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
