//===- Special.cpp - cases and numbers at the edges of their types --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

/// `net.convert %a : FROM -> TO`.
static CaseFamily makeConversion(const std::string &from, const std::string &to) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(2);
    return OperationCase{{{shape, from}}, "net.convert %a : " + printType(shape, from) + " -> " + printType(shape, to)};
  };
  return {"net.convert", from + " to " + to, draw};
}

/// `net.NAME %a, %b : TYPE` of integers.
static CaseFamily makeInteger(const std::string &name, const std::string &element) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(2);
    return OperationCase{{{shape, element}, {shape, element}},
                         "net." + name + " %a, %b : " + printType(shape, element)};
  };
  return {"net." + name, element, draw};
}

const std::vector<CaseFamily> &test::getSpecialFamilies() {
  static const std::vector<CaseFamily> all = [] {
    std::vector<CaseFamily> families;
    // With infinity and without, wide and narrow.
    const std::vector<std::string> floats{"f64", "f32", "bf16", "f16", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ"};
    for (const std::string &from : floats)
      for (const std::string &to : floats)
        if (from != to)
          families.push_back(makeConversion(from, to));
    for (const char *element : {"i8", "i16", "i64", "ui8", "ui16", "ui32", "ui64"})
      for (const char *name : {"add", "subtract", "maximum", "minimum", "and", "or"})
        // Differences of 64 bits wrap to numbers that doubles do not hold.
        if (StringRef(element) != "ui64" || StringRef(name) != "subtract")
          families.push_back(makeInteger(name, element));
    return families;
  }();
  return all;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static double toDouble(llvm::APFloat number) {
  bool loses;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

/// Special values that `type` has, among them small numbers that every type has.
static std::vector<double> listFloats(FloatType type, SpecialRange range) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  std::vector<double> numbers{NAN, 0, 0.5, -0.5, 1, -1, 1.5, -2};
  if (llvm::APFloat::semanticsHasInf(semantics))
    numbers.insert(numbers.end(), {INFINITY, -INFINITY});
  if (range == SpecialRange::Multiplied)
    return numbers;
  double smallest = toDouble(llvm::APFloat::getSmallest(semantics)),
         normal = toDouble(llvm::APFloat::getSmallestNormalized(semantics));
  numbers.insert(numbers.end(), {-0.0, smallest, -smallest, normal, -normal});
  double largest = toDouble(llvm::APFloat::getLargest(semantics));
  if (range == SpecialRange::Exact)
    numbers.insert(numbers.end(), {largest, -largest, largest / 2, 500, -500, 70000});
  return numbers;
}

static double drawFloat(FloatType type, ArrayRef<double> special, bool isSpecial, Random &random) {
  double number = static_cast<double>(random.pick(-8, 8)) / 4;
  if (isSpecial && random.chance(35))
    number = special[random.pick(0, static_cast<int64_t>(special.size()) - 1)];
  return evaluate::roundTo(type, number);
}

static int64_t drawInteger(IntegerType type, bool isSpecial, Random &random) {
  // The simulator of ranks stores integers as doubles, so 64-bit integers are limited to values whose sums are exact.
  unsigned width = std::min(type.getWidth(), 50u);
  int64_t number = random.pick(type.isUnsigned() ? 0 : -8, 8);
  if (isSpecial && random.chance(40)) {
    int64_t top = int64_t(1) << (width - 1);
    number = random.choose(std::vector<int64_t>{0, 1, 2 * top - 1, top, top - 1, top + 1, width, width - 1});
  }
  return evaluate::wrapTo(type, number);
}

std::vector<evaluate::Tensor> test::drawSpecialOperands(const OperationCase &operationCase, ArrayRef<Type> types,
                                                        SpecialRange range, Random &random) {
  StringRef text = operationCase.text;
  bool hasPositions =
      text.starts_with("net.gather") || text.starts_with("net.scatter") || text.starts_with("net.dynamic");
  std::vector<evaluate::Tensor> tensors;
  for (auto [operand, type] : llvm::zip_equal(operationCase.operands, types)) {
    evaluate::Tensor &tensor = tensors.emplace_back(cast<RankedTensorType>(type));
    // If all elements are special, nearly every result is NaN.
    bool isSpecial = random.chance(60);
    auto integer = dyn_cast<IntegerType>(tensor.type.getElementType());
    std::vector<double> special =
        integer ? std::vector<double>() : listFloats(cast<FloatType>(tensor.type.getElementType()), range);
    for (evaluate::Element &element : tensor.data) {
      if (!integer)
        element.f = drawFloat(cast<FloatType>(tensor.type.getElementType()), special, isSpecial, random);
      else if (hasPositions || integer.getWidth() == 1)
        element.i = evaluate::wrapTo(
            integer, random.pick(static_cast<int64_t>(operand.low), static_cast<int64_t>(operand.high)));
      else
        element.i = drawInteger(integer, isSpecial, random);
    }
  }
  return tensors;
}
