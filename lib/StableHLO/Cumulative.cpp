//===- Cumulative.cpp - cumulative sums as logarithmic-depth scans --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX prints a cumulative sum of n elements as a sliding window of n elements, which would take n²/2 additions. It
// becomes an odd-even scan of at most 2n combinations, made of slices, combinations and concatenations, which already
// have derivatives and kernels:
//
//     x        a   b   c   d   e         combine neighbours into pairs,
//     pairs      ab      cd              scan the pairs recursively,
//     scan       ab     abcd             which gives every second result,
//     result   a  ab abc abcd abcde      and combine each remaining one with its own element
//
// JAX combines in the same order when it does not use windows.
//
//===----------------------------------------------------------------------===//

#include "Cumulative.h"
#include "Reduction.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;
using net::shapeOf;

std::optional<Cumulation> importer::findCumulation(const WindowLists &windows, ArrayRef<int64_t> shape) {
  std::optional<Cumulation> found;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t size = windows.sizes[dim], low = windows.padding[2 * dim], high = windows.padding[2 * dim + 1];
    if (windows.strides[dim] != 1 || windows.baseDilation[dim] != 1 || windows.windowDilation[dim] != 1)
      return std::nullopt;
    if (size == 1 && low == 0 && high == 0)
      continue;
    bool isBefore = low == size - 1 && high == 0, isBehind = low == 0 && high == size - 1;
    if (found || size != shape[dim] || size < 2 || (!isBefore && !isBehind))
      return std::nullopt;
    found = Cumulation{static_cast<int64_t>(dim), isBehind};
  }
  return found;
}

namespace {

/// Positions count in the direction of the scan: if it runs from the end, slices and concatenations are mirrored.
class Scan {
public:
  Scan(net::NetBuilder &build, Cumulation cumulation, function_ref<Value(Value, Value)> combine)
      : build(build), dim(cumulation.dim), fromEnd(cumulation.fromEnd), combine(combine) {}

  Value run(Value x) {
    int64_t size = shapeOf(x)[dim];
    if (size < 2)
      return x;
    Value pairs = combine(take(x, 0, size - 1, 2), take(x, 1, size, 2));
    Value odd = run(pairs), even = take(x, 0, 1, 1);
    int64_t later = llvm::divideCeil(size, 2) - 1;
    if (later > 0)
      even = join(even, combine(take(odd, 0, later, 1), take(x, 2, size, 2)), dim);
    return interleave(even, odd);
  }

private:
  Value take(Value x, int64_t start, int64_t limit, int64_t step) {
    SmallVector<int64_t> starts(shapeOf(x).size(), 0), limits(shapeOf(x)), steps(starts.size(), 1);
    int64_t size = limits[dim], last = start + (llvm::divideCeil(limit - start, step) - 1) * step;
    starts[dim] = fromEnd ? size - 1 - last : start;
    limits[dim] = fromEnd ? size - start : last + 1;
    steps[dim] = step;
    return build.slice(x, starts, limits, steps);
  }

  Value join(Value first, Value second, int64_t along) {
    Value values[] = {first, second};
    if (fromEnd)
      std::swap(values[0], values[1]);
    return build.concatenate(values, along);
  }

  /// Alternates elements of both; `even` may have one element more.
  Value interleave(Value even, Value odd) {
    SmallVector<int64_t> shape(shapeOf(odd)), apart(shape);
    int64_t pairs = shape[dim], left = shapeOf(even)[dim];
    apart.insert(apart.begin() + dim + 1, 1);
    shape[dim] = 2 * pairs;
    Value first = left > pairs ? take(even, 0, pairs, 1) : even;
    Value both = build.reshape(join(build.reshape(first, apart), build.reshape(odd, apart), dim + 1), shape);
    return left > pairs ? join(both, take(even, pairs, left, 1), dim) : both;
  }

  net::NetBuilder &build;
  int64_t dim;
  bool fromEnd;
  function_ref<Value(Value, Value)> combine;
};

} // namespace

Value importer::cumulate(net::NetBuilder &build, Value value, Cumulation cumulation,
                         function_ref<Value(Value, Value)> combine) {
  return Scan(build, cumulation, combine).run(value);
}

//===----------------------------------------------------------------------===//
// log(exp(a) + exp(b))
//===----------------------------------------------------------------------===//

/// The operand of `value` if it is the result of the unary operation `name`; null otherwise.
static Value matchUnary(Value value, StringRef name) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return op && op->getName().getStringRef() == name && op->getNumOperands() == 1 ? op->getOperand(0) : Value();
}

bool importer::isLogAddExp(Block &body) {
  if (body.getNumArguments() != 2 || body.back().getNumOperands() != 1)
    return false;
  std::pair<Value, Value> arguments(body.getArgument(0), body.getArgument(1));
  Operation *select = body.back().getOperand(0).getDefiningOp();
  if (!select || select->getName().getStringRef() != "stablehlo.select" || select->getNumOperands() != 3)
    return false;
  // Returns a + b if a − b is NaN: both are the same infinity, or one is NaN.
  auto sum = matchBinary(select->getOperand(2), "stablehlo.add");
  if (matchBinary(select->getOperand(1), "stablehlo.add") != arguments || !sum ||
      matchBinary(sum->first, "stablehlo.maximum") != arguments)
    return false;
  Value exponent = matchUnary(matchUnary(sum->second, "stablehlo.log_plus_one"), "stablehlo.exponential");
  Value difference = matchUnary(matchUnary(exponent, "stablehlo.negate"), "stablehlo.abs");
  return difference && matchBinary(difference, "stablehlo.subtract") == arguments &&
         isCompare(select->getOperand(0), "NE", difference, difference);
}

Value importer::logAddExp(net::NetBuilder &build, Value a, Value b) {
  Value difference = build.subtract(a, b);
  Value isNumber = build.compare(net::CompareDirection::Eq, difference, difference);
  Value rest = build.unary<net::Log1pOp>(build.unary<net::ExpOp>(build.negate(build.unary<net::AbsOp>(difference))));
  return build.select(isNumber, build.add(build.binary<net::MaximumOp>(a, b), rest), build.add(a, b));
}
