//===- Random.cpp - counter-based random bits: Philox and Threefry --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands random bits into integer arithmetic on the index of every element. The generators are counter-based (Salmon
// et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011), so the block of an element follows from its index in the
// whole tensor: a rank draws for its part the numbers of the serial program, and masks are computed where they are
// used. The assignment of elements to blocks and words is that of JAX on a CPU.
//
//===----------------------------------------------------------------------===//

#include "Bits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

using Key = std::array<Value, 2>;

namespace {

/// Drawn elements, and the number of blocks that they used.
struct Draw {
  Value elements;
  uint64_t blocks;
};

} // namespace

/// The key: both halves of the first element of the state.
static Key getKey(Bits &bits, Value state) {
  Value key = bits.take(state, 0);
  return {bits.low(key), bits.high(key)};
}

static Value isNumber(Bits &bits, Value index, uint64_t number) {
  return bits.build.compare(net::CompareDirection::Eq, index, bits.number(index, number));
}

//===----------------------------------------------------------------------===//
// Philox
//===----------------------------------------------------------------------===//

/// Philox-4x32: ten rounds on blocks of four words.
static void philox(Bits &bits, std::array<Value, 4> &words, Key key) {
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

/// The words of block number `block`: the state's second element is the block counter and carries into the first.
static std::array<Value, 4> drawBlock(Bits &bits, Value state, Value block) {
  ArrayRef<int64_t> shape = net::shapeOf(block);
  Value upper = bits.build.broadcast(bits.take(state, 0), shape);
  Value lower = bits.build.broadcast(bits.take(state, 1), shape);
  Value counter = bits.build.add(lower, block);
  Value carries = bits.build.compare(net::CompareDirection::Lt, counter, lower);
  upper = bits.build.select(carries, bits.plus(upper, 1), upper);
  std::array<Value, 4> words = {bits.low(counter), bits.high(counter), bits.low(upper), bits.high(upper)};
  philox(bits, words, getKey(bits, state));
  return words;
}

/// Assigns blocks in the order of elements: two elements of 64 bits per block, or four shorter ones, which take the low
/// bits of a word.
static Draw drawPhilox(Bits &bits, Value state, ArrayRef<int64_t> shape, unsigned width) {
  Value index = bits.countElements(shape);
  unsigned digits = width == 64 ? 1 : 2;
  std::array<Value, 4> words = drawBlock(bits, state, bits.shiftRight(index, digits));
  Value place = bits.build.binary<net::AndOp>(index, bits.number(index, (uint64_t(1) << digits) - 1));
  auto blocks = llvm::divideCeil(static_cast<uint64_t>(net::typeOf(index).getNumElements()), uint64_t(1) << digits);
  if (width == 64) {
    Value isFirst = isNumber(bits, place, 0);
    return {bits.join(bits.build.select(isFirst, words[0], words[2]), bits.build.select(isFirst, words[1], words[3])),
            blocks};
  }
  Value chosen = words[3];
  for (int number = 2; number >= 0; --number)
    chosen = bits.build.select(isNumber(bits, place, number), words[number], chosen);
  return {bits.build.convert(chosen, bits.type(width)), blocks};
}

//===----------------------------------------------------------------------===//
// Threefry
//===----------------------------------------------------------------------===//

/// Threefry-2x32: twenty rounds on blocks of two words.
static void threefry(Bits &bits, std::array<Value, 2> &words, Key key) {
  constexpr int kGroups = 5;
  constexpr uint64_t kParity = 0x1BD11BDA, kDistances[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  ArrayRef<int64_t> shape = net::shapeOf(words[0]);
  Value third = bits.differ(key[0], key[1]);
  std::array<Value, 3> keys = {key[0], key[1], bits.differ(third, bits.number(third, kParity))};
  auto inject = [&](int first) {
    for (int word = 0; word < 2; ++word)
      words[word] = bits.build.add(words[word], bits.build.broadcast(keys[(first + word) % 3], shape));
  };
  inject(0);
  for (int group = 0; group < kGroups; ++group) {
    for (uint64_t distance : kDistances[group % 2]) {
      words[0] = bits.build.add(words[0], words[1]);
      Value rotated = bits.both(bits.shiftLeft(words[1], distance), bits.shiftRight(words[1], 32 - distance));
      words[1] = bits.differ(words[0], rotated);
    }
    inject(group + 1);
    words[1] = bits.plus(words[1], group + 1);
  }
}

/// The dimension along which neighbours share a block: the first of even size, otherwise the first of the largest size.
static std::optional<int64_t> findPaired(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return std::nullopt;
  const auto *even = llvm::find_if(shape, [](int64_t size) { return size % 2 == 0; });
  return (even != shape.end() ? even : llvm::max_element(shape)) - shape.begin();
}

/// An element of 64 bits takes a block; two neighbours of fewer bits share one. The state's second element is the block
/// counter.
static Draw drawThreefry(Bits &bits, Value state, ArrayRef<int64_t> shape, unsigned width) {
  std::optional<int64_t> paired = width == 64 ? std::nullopt : findPaired(shape);
  Value block = bits.countElements(shape, paired);
  Value counter = bits.build.add(bits.build.broadcast(bits.take(state, 1), shape), block);
  std::array<Value, 2> words = {bits.low(counter), bits.high(counter)};
  threefry(bits, words, getKey(bits, state));
  uint64_t blocks = net::typeOf(block).getNumElements();
  if (width == 64)
    return {bits.join(words[0], words[1]), blocks};
  Value chosen = words[0];
  if (paired) {
    Value place = bits.build.iota(bits.type(64), shape, *paired);
    place = bits.build.binary<net::AndOp>(place, bits.number(place, 1));
    chosen = bits.build.select(isNumber(bits, place, 0), words[0], words[1]);
    if (blocks != 0)
      blocks = blocks / shape[*paired] * llvm::divideCeil(shape[*paired], 2);
  }
  return {bits.build.convert(chosen, bits.type(width)), blocks};
}

//===----------------------------------------------------------------------===//
// rng_bit_generator
//===----------------------------------------------------------------------===//

/// True for threefry. The default is Philox, as in JAX on a CPU.
static FailureOr<bool> isThreefry(Conversion &conversion) {
  FailureOr<StringRef> algorithm = conversion.getWord("rng_algorithm");
  if (failed(algorithm))
    return failure();
  if (*algorithm == "THREE_FRY")
    return true;
  if (*algorithm == "PHILOX" || *algorithm == "DEFAULT")
    return false;
  return conversion.error() << "draws by " << *algorithm << ", which is not DEFAULT, PHILOX or THREE_FRY";
}

static LogicalResult verifyRandomBits(Conversion &conversion) {
  if (failed(conversion.expect(1, 2)))
    return failure();
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
  FailureOr<bool> byThreefry = isThreefry(conversion);
  if (failed(byThreefry))
    return failure();
  Bits bits(conversion);
  RankedTensorType type = conversion.getType(1);
  Value state = conversion.getOp()->getOperand(0);
  Draw draw = (*byThreefry ? drawThreefry : drawPhilox)(bits, state, type.getShape(), type.getElementTypeBitWidth());
  Value used = bits.build.reshape(bits.plus(bits.take(state, 1), draw.blocks), {1});
  Value next = bits.build.concatenate({bits.build.reshape(bits.take(state, 0), {1}), used}, 0);
  return SmallVector<Value>{next, bits.read(draw.elements, type.getElementType())};
}

void importer::addRandom(ConverterMap &converters) { converters["stablehlo.rng_bit_generator"] = convertRandomBits; }
