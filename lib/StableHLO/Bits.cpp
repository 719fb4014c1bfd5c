//===- Bits.cpp - conversion of bitcasts and bit counting -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bitcasts, population counts and `next_after` become unsigned integer arithmetic (`Bits.h`). An operation that changes
// the width of elements has one dimension more or less; part i of a wide element holds its bits from i · (narrow width)
// on.
//
//===----------------------------------------------------------------------===//

#include "Bits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

Value Bits::countElements(ArrayRef<int64_t> shape, std::optional<int64_t> paired) {
  Value sum;
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    Value index = build.iota(type(64), shape, dim);
    if (dim == paired)
      index = shiftRight(index, 1);
    if (stride != 1)
      index = build.multiply(index, number(index, stride));
    sum = sum ? build.add(sum, index) : index;
    stride *= dim == paired ? llvm::divideCeil(shape[dim], 2) : shape[dim];
  }
  return sum ? sum : build.splat(RankedTensorType::get({}, type(64)), 0);
}

/// Checks that the result has the operand's shape, with one dimension more or less if elements are split or joined.
static LogicalResult verifyBitcast(Conversion &conversion) {
  RankedTensorType from = conversion.getOperandType(0), to = conversion.getType();
  unsigned fromWidth = from.getElementTypeBitWidth(), toWidth = to.getElementTypeBitWidth();
  SmallVector<int64_t> expected(from.getShape());
  if (fromWidth > toWidth)
    expected.push_back(fromWidth / toWidth);
  else if (fromWidth < toWidth && (expected.empty() || expected.pop_back_val() != toWidth / fromWidth))
    expected.assign(1, -1);
  bool isWhole = fromWidth == toWidth || (fromWidth > 1 && toWidth > 1);
  if (isWhole && to.getShape() == ArrayRef<int64_t>(expected))
    return success();
  return conversion.error() << "reads the bits of " << from << " as " << to;
}

static Converted convertBitcast(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(verifyBitcast(conversion)))
    return failure();
  Bits bits(conversion);
  RankedTensorType from = conversion.getOperandType(0), to = conversion.getType();
  unsigned fromWidth = from.getElementTypeBitWidth(), toWidth = to.getElementTypeBitWidth();
  Value operand = conversion.getOp()->getOperand(0);
  if (fromWidth == toWidth)
    return SmallVector<Value>{bits.read(operand, to.getElementType())};
  operand = bits.read(operand, bits.type(fromWidth));
  Value result;
  if (fromWidth > toWidth) {
    // Part i of an element begins at bit i · width.
    int64_t last = to.getRank() - 1;
    Value wide = bits.build.broadcast(operand, to.getShape(), llvm::to_vector(llvm::seq<int64_t>(0, last)));
    Value places = bits.build.iota(bits.type(fromWidth), to.getShape(), last);
    places = bits.build.multiply(places, bits.number(places, toWidth));
    result = bits.build.convert(bits.build.binary<net::ShiftRightLogicalOp>(wide, places), bits.type(toWidth));
  } else {
    for (unsigned part = 0; part < toWidth / fromWidth; ++part) {
      Value element = bits.build.convert(bits.take(operand, part), bits.type(toWidth));
      element = part == 0 ? element : bits.shiftLeft(element, static_cast<uint64_t>(part) * fromWidth);
      result = result ? bits.both(result, element) : element;
    }
  }
  return SmallVector<Value>{bits.read(result, to.getElementType())};
}

/// The next float after `x` in the direction of `y`. Floats of one sign are ordered as their bits are.
static Value stepTowards(Bits &bits, Value x, Value y) {
  using net::CompareDirection;
  net::NetBuilder &b = bits.build;
  unsigned width = net::typeOf(x).getElementTypeBitWidth();
  Type element = net::elementTypeOf(x), word = bits.type(width);
  Value from = bits.read(x, word), to = bits.read(y, word), zero = bits.number(from, 0), one = bits.number(from, 1);
  Value sign = bits.number(from, uint64_t(1) << (width - 1));
  auto isNegative = [&](Value value) { return b.compare(CompareDirection::Ge, value, sign); };
  auto magnitude = [&](Value value) { return bits.read(b.unary<net::AbsOp>(bits.read(value, element)), word); };
  Value isLarger = b.compare(CompareDirection::Gt, magnitude(from), magnitude(to));
  Value shrinks = bits.both(isLarger, bits.differ(isNegative(from), isNegative(to)));
  Value next = b.select(shrinks, b.subtract(from, one), b.add(from, one));
  // The next float after zero is the smallest number with the sign of `y`.
  Value smallest = bits.both(b.binary<net::AndOp>(to, sign), one);
  next = b.select(b.compare(CompareDirection::Eq, magnitude(from), zero), smallest, next);
  Value result = b.select(b.compare(CompareDirection::Eq, x, y), y, bits.read(next, element));
  Value isNaN = bits.both(b.compare(CompareDirection::Ne, x, x), b.compare(CompareDirection::Ne, y, y));
  return b.select(isNaN, b.add(x, y), result);
}

static Converted convertNextAfter(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  RankedTensorType type = conversion.getType();
  if (!isa<FloatType>(type.getElementType()) || conversion.getOperandType(0) != type ||
      conversion.getOperandType(1) != type)
    return conversion.error() << "goes from " << conversion.getOperandType(0) << " towards "
                              << conversion.getOperandType(1) << " into " << type;
  Bits bits(conversion);
  return SmallVector<Value>{stepTowards(bits, conversion.getOp()->getOperand(0), conversion.getOp()->getOperand(1))};
}

/// Counts the set bits: adds neighbouring fields of doubling length.
static Value countBits(Bits &bits, Value x) {
  net::NetBuilder &b = bits.build;
  unsigned width = net::typeOf(x).getElementTypeBitWidth();
  for (unsigned field = 1; field < width; field *= 2) {
    // A mask of every second field of that length.
    APInt mask = APInt::getSplat(width, APInt::getLowBitsSet(2 * field, field));
    Value fields = bits.number(x, mask.getZExtValue());
    x = b.add(b.binary<net::AndOp>(x, fields), b.binary<net::AndOp>(bits.shiftRight(x, field), fields));
  }
  return x;
}

/// Checks that an operation has one operand of integers and a result of its type.
static LogicalResult expectInteger(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  Type element = conversion.getType().getElementType();
  if (conversion.getOperandType(0) == conversion.getType() && isa<IntegerType>(element) && !element.isInteger(1))
    return success();
  return conversion.error() << "turns " << conversion.getOperandType(0) << " into " << conversion.getType();
}

static Converted convertPopulationCount(Conversion &conversion) {
  if (failed(expectInteger(conversion)))
    return failure();
  Bits bits(conversion);
  Type element = conversion.getType().getElementType();
  Value x = bits.read(conversion.getOp()->getOperand(0), bits.type(element.getIntOrFloatBitWidth()));
  return SmallVector<Value>{bits.read(countBits(bits, x), element)};
}

/// Sets every bit below the highest set bit; the bits that remain zero are the leading zeros.
static Converted convertLeadingZeros(Conversion &conversion) {
  if (failed(expectInteger(conversion)))
    return failure();
  Bits bits(conversion);
  Type element = conversion.getType().getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  Value x = bits.read(conversion.getOp()->getOperand(0), bits.type(width));
  for (unsigned by = 1; by < width; by *= 2)
    x = bits.both(x, bits.shiftRight(x, by));
  return SmallVector<Value>{bits.read(countBits(bits, bits.build.unary<net::NotOp>(x)), element)};
}

void importer::addBits(ConverterMap &converters) {
  converters["chlo.next_after"] = convertNextAfter;
  converters["stablehlo.bitcast_convert"] = convertBitcast;
  converters["stablehlo.count_leading_zeros"] = convertLeadingZeros;
  converters["stablehlo.popcnt"] = convertPopulationCount;
}
