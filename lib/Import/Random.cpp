//===- Random.cpp - bits as other types, and random bits of StableHLO -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random bits are arithmetic on the index of every element: the generator is counter-based, and which block of its
// output an element takes follows from the element's place in the whole tensor. Written so, in the integers of net, a
// rank draws for its part what the serial program draws there, and masks are computed where they are used. The counters
// are those of JAX on a CPU: blocks of 128 bits, in the row-major order of the elements.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace {

/// Unsigned arithmetic.
class Bits : public Expression {
public:
  using Expression::Expression;

  Type type(unsigned width) { return build.builder.getIntegerType(width, /*isSigned=*/false); }
  /// A constant of the type of `like`.
  Value number(Value like, uint64_t value) {
    RankedTensorType type = net::typeOf(like);
    Attribute element = IntegerAttr::get(type.getElementType(), APInt(type.getElementTypeBitWidth(), value));
    return net::ConstantOp::create(build.builder, build.location, type, DenseElementsAttr::get(type, element));
  }
  Value shiftRight(Value x, uint64_t by) { return build.binary<net::ShiftRightLogicalOp>(x, number(x, by)); }
  Value shiftLeft(Value x, uint64_t by) { return build.binary<net::ShiftLeftOp>(x, number(x, by)); }
  Value both(Value x, Value y) { return build.binary<net::OrOp>(x, y); }
  Value differ(Value x, Value y) { return build.binary<net::XorOp>(x, y); }
  Value plus(Value x, uint64_t y) { return build.add(x, number(x, y)); }
  /// The lower and the upper half of 64 bits.
  Value low(Value x) { return build.convert(x, type(32)); }
  Value high(Value x) { return build.convert(shiftRight(x, 32), type(32)); }
  Value join(Value low, Value high) {
    return both(build.convert(low, type(64)), shiftLeft(build.convert(high, type(64)), 32));
  }
  /// The same bits as elements of `element`, which has as many.
  Value read(Value x, Type element) {
    if (net::elementTypeOf(x) == element)
      return x;
    return net::BitcastConvertOp::create(build.builder, build.location, net::typeOf(x).clone(element), x);
  }
  /// Element `index` of the last dimension, which is dropped.
  Value take(Value x, int64_t index) {
    ArrayRef<int64_t> shape = net::shapeOf(x);
    SmallVector<int64_t> starts(shape.size(), 0), limits(shape), steps(shape.size(), 1);
    starts.back() = index;
    limits.back() = index + 1;
    return build.reshape(build.slice(x, starts, limits, steps), shape.drop_back());
  }
  /// The number of every element in row-major order.
  Value countElements(ArrayRef<int64_t> shape);
};

} // namespace

Value Bits::countElements(ArrayRef<int64_t> shape) {
  Value sum;
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    Value index = build.iota(type(64), shape, dim);
    if (stride != 1)
      index = build.multiply(index, number(index, stride));
    sum = sum ? build.add(sum, index) : index;
    stride *= shape[dim];
  }
  return sum ? sum : build.splat(RankedTensorType::get({}, type(64)), 0);
}

//===----------------------------------------------------------------------===//
// Bits as other types
//===----------------------------------------------------------------------===//

/// Checks that the result has the operand's shape, with one dimension more or less where elements are divided or
/// joined.
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
    // Part i of an element is its bits from place i times the width on.
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

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

/// Ten rounds of Philox (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011) on blocks of four words. The
/// two words of the key are scalars.
static void scramble(Bits &bits, std::array<Value, 4> &words, std::array<Value, 2> key) {
  constexpr int kRounds = 10;
  constexpr uint64_t kFactors[] = {0xD2511F53, 0xCD9E8D57}, kSteps[] = {0x9E3779B9, 0xBB67AE85};
  ArrayRef<int64_t> shape = net::shapeOf(words[0]);
  auto multiply = [&](Value word, uint64_t factor) {
    Value wide = bits.build.convert(word, bits.type(64));
    return bits.build.multiply(wide, bits.number(wide, factor));
  };
  for (int round = 0; round < kRounds; ++round) {
    Value first = multiply(words[0], kFactors[0]), second = multiply(words[2], kFactors[1]);
    std::array<Value, 2> mixed = {bits.differ(bits.high(second), words[1]), bits.differ(bits.high(first), words[3])};
    for (int index = 0; index < 2; ++index) {
      mixed[index] = bits.differ(mixed[index], bits.build.broadcast(key[index], shape));
      key[index] = bits.plus(key[index], kSteps[index]);
    }
    words = {mixed[0], bits.low(second), mixed[1], bits.low(first)};
  }
}

/// The words of the block `block` of the generator in `state`, whose first element is the key, and with the second the
/// counter.
static std::array<Value, 4> drawBlock(Bits &bits, Value state, Value block) {
  ArrayRef<int64_t> shape = net::shapeOf(block);
  Value upper = bits.take(state, 0), lower = bits.build.broadcast(bits.take(state, 1), shape);
  std::array<Value, 2> key = {bits.low(upper), bits.high(upper)};
  Value counter = bits.build.add(lower, block);
  Value carries = bits.build.compare(net::CompareDirection::Lt, counter, lower);
  upper = bits.build.broadcast(upper, shape);
  upper = bits.build.select(carries, bits.plus(upper, 1), upper);
  std::array<Value, 4> words = {bits.low(counter), bits.high(counter), bits.low(upper), bits.high(upper)};
  scramble(bits, words, key);
  return words;
}

/// The element of each block that `index` counts to; elements of 64 bits are two words, shorter ones the last bits of
/// one.
static Value choose(Bits &bits, const std::array<Value, 4> &words, Value index, unsigned width) {
  auto is = [&](uint64_t number) {
    return bits.build.compare(net::CompareDirection::Eq, index, bits.number(index, number));
  };
  if (width == 64)
    return bits.join(bits.build.select(is(0), words[0], words[2]), bits.build.select(is(0), words[1], words[3]));
  Value chosen = words[3];
  for (int number = 2; number >= 0; --number)
    chosen = bits.build.select(is(number), words[number], chosen);
  return bits.build.convert(chosen, bits.type(width));
}

static LogicalResult verifyRandomBits(Conversion &conversion) {
  if (failed(conversion.expect(1, 2)))
    return failure();
  FailureOr<StringRef> algorithm = conversion.getWord("rng_algorithm");
  if (failed(algorithm))
    return failure();
  if (*algorithm != "DEFAULT" && *algorithm != "PHILOX")
    return conversion.error() << "draws by " << *algorithm << "; PHILOX and DEFAULT, which is the same, are known";
  RankedTensorType state = conversion.getOperandType(0);
  if (state.getShape() != ArrayRef<int64_t>{2} || !state.getElementType().isUnsignedInteger(64))
    return conversion.error() << "has a state of " << state << ", not of tensor<2xui64>";
  Type element = conversion.getType(1).getElementType();
  if (conversion.getType() != state || !isa<IntegerType>(element) || element.isInteger(1))
    return conversion.error() << "turns a state of " << state << " into " << conversion.getType() << " and bits of "
                              << conversion.getType(1);
  return success();
}

static Converted convertRandomBits(Conversion &conversion) {
  if (failed(verifyRandomBits(conversion)))
    return failure();
  Bits bits(conversion);
  RankedTensorType type = conversion.getType(1);
  unsigned width = type.getElementTypeBitWidth();
  Value state = conversion.getOp()->getOperand(0), index = bits.countElements(type.getShape());
  // Four elements to a block, or two.
  unsigned digits = width == 64 ? 1 : 2;
  std::array<Value, 4> words = drawBlock(bits, state, bits.shiftRight(index, digits));
  Value inBlock = bits.build.binary<net::AndOp>(index, bits.number(index, (uint64_t(1) << digits) - 1));
  Value drawn = bits.read(choose(bits, words, inBlock, width), type.getElementType());
  uint64_t blocks = llvm::divideCeil(static_cast<uint64_t>(type.getNumElements()), uint64_t(1) << digits);
  Value used = bits.build.reshape(bits.plus(bits.take(state, 1), blocks), {1});
  Value next = bits.build.concatenate({bits.build.reshape(bits.take(state, 0), {1}), used}, 0);
  return SmallVector<Value>{next, drawn};
}

void importer::addRandom(ConverterMap &converters) {
  converters["stablehlo.bitcast_convert"] = convertBitcast;
  converters["stablehlo.rng_bit_generator"] = convertRandomBits;
}
