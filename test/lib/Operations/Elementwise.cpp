//===- Elementwise.cpp - cases of elementwise operations ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers cases for every elementwise operation: shapes and element types are drawn at random, operands from the
// interval in which the operation is defined and differentiable.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"

using namespace meshwright;
using namespace meshwright::test;

namespace {

/// An operation on floats and the interval that it is differentiated in.
struct OnFloats {
  const char *name;
  double low, high;
};

} // namespace

/// `net.NAME %a, %b : TYPE`, on as many operands as there are intervals, all of one type.
static CaseFamily makeFamily(const std::string &name, const std::string &element, std::vector<OnFloats> operands) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(2);
    OperationCase made;
    made.text = "net." + name;
    for (size_t index = 0; index < operands.size(); ++index) {
      made.operands.push_back({shape, element, operands[index].low, operands[index].high});
      made.text += std::string(index ? ", %" : " %") + static_cast<char>('a' + index);
    }
    made.text += " : " + printType(shape, element);
    return made;
  };
  return {"net." + name, element, draw};
}

static void addFloats(std::vector<CaseFamily> &families) {
  static constexpr OnFloats kUnary[] = {{"abs", -2, 2},
                                        {"acos", -0.8, 0.8},
                                        {"acosh", 1.2, 3},
                                        {"asin", -0.8, 0.8},
                                        {"asinh", -2, 2},
                                        {"atanh", -0.8, 0.8},
                                        {"cbrt", 0.3, 2},
                                        {"ceil", -2, 2},
                                        {"cosh", -2, 2},
                                        {"cosine", -2, 2},
                                        {"digamma", 0.3, 2},
                                        {"erf", -2, 2},
                                        {"erfc", -2, 2},
                                        {"exponential", -2, 2},
                                        {"exponential_minus_one", -2, 2},
                                        {"floor", -2, 2},
                                        {"lgamma", 0.3, 2},
                                        {"log", 0.3, 2},
                                        {"log_plus_one", -0.7, 2},
                                        {"logistic", -2, 2},
                                        {"negate", -2, 2},
                                        {"round_nearest_even", -2, 2},
                                        {"rsqrt", 0.3, 2},
                                        {"sign", -2, 2},
                                        {"sine", -2, 2},
                                        {"sinh", -2, 2},
                                        {"sqrt", 0.3, 2},
                                        {"tan", -1.2, 1.2},
                                        {"tanh", -2, 2}};
  for (const OnFloats &unary : kUnary)
    families.push_back(makeFamily(unary.name, "f64", {unary}));
  static constexpr OnFloats kAny{"", -2, 2}, kPositive{"", 0.4, 2.3};
  for (const char *name : {"add", "maximum", "minimum", "multiply", "subtract"})
    families.push_back(makeFamily(name, "f64", {kAny, kAny}));
  families.push_back(makeFamily("atan2", "f64", {kAny, kPositive}));
  families.push_back(makeFamily("divide", "f64", {kAny, kPositive}));
  families.push_back(makeFamily("power", "f64", {kPositive, kAny}));
  // The quotients lie between 2.2 and 2.7.
  families.push_back(makeFamily("remainder", "f64", {{"", 2.2, 2.43}, {"", 0.92, 0.99}}));
}

static void addIntegers(std::vector<CaseFamily> &families) {
  static constexpr OnFloats kAny{"", -20, 20}, kPositive{"", 1, 9}, kShift{"", 0, 31}, kBit{"", 0, 1};
  for (const char *name : {"abs", "negate", "not", "sign"})
    families.push_back(makeFamily(name, "i32", {kAny}));
  for (const char *name : {"add", "and", "maximum", "minimum", "multiply", "or", "subtract", "xor"})
    families.push_back(makeFamily(name, "i32", {kAny, kAny}));
  for (const char *name : {"divide", "remainder"})
    families.push_back(makeFamily(name, "ui32", {kPositive, kPositive}));
  for (const char *name : {"shift_left", "shift_right_arithmetic", "shift_right_logical"})
    families.push_back(makeFamily(name, "i32", {kAny, kShift}));
  families.push_back(makeFamily("not", "i1", {kBit}));
  for (const char *name : {"and", "or", "xor"})
    families.push_back(makeFamily(name, "i1", {kBit, kBit}));
}

/// `net.NAME %a … : FROM -> TO`.
static CaseFamily makeConversion(const std::string &name, const std::string &from, const std::string &to) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(2);
    return OperationCase{{{shape, from}},
                         "net." + name + " %a : " + printType(shape, from) + " -> " + printType(shape, to)};
  };
  return {"net." + name, from + " to " + to, draw};
}

static OperationCase drawCompare(CaseSource &source) {
  CaseShape shape = source.shape(2);
  std::string direction = source.choose<std::string>({"eq", "ne", "lt", "le", "gt", "ge"});
  bool isFloat = source.chance(50);
  std::string element = isFloat ? "f64" : source.choose<std::string>({"i32", "ui8", "i1"});
  double low = element == "i32" ? -3 : 0, high = element == "i1" ? 1 : 3;
  std::string order = isFloat && source.chance(30) ? " total_order" : "";
  return {{{shape, element, low, high}, {shape, element, low, high}},
          "net.compare " + direction + ", %a, %b" + order + " : " + printType(shape, element) + " -> " +
              printType(shape, "i1")};
}

static OperationCase drawSelect(CaseSource &source) {
  CaseShape shape = source.shape(2);
  return {{{shape, "i1", 0, 1}, {shape}, {shape}},
          "net.select %a, %b, %c : " + printType(shape, "i1") + ", " + printType(shape)};
}

static OperationCase drawReducePrecision(CaseSource &source) {
  CaseShape shape = source.shape(2);
  return {{{shape}}, "net.reduce_precision %a exponent = 11 mantissa = 48 : " + printType(shape)};
}

/// `net.NAME %a, %k : TYPE` with a constant, of which is known what a partial sum needs to pass.
static CaseFamily makeWithConstant(const std::string &name) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(2);
    std::string constant = "%k = net.constant dense<" + source.choose<std::string>({"0.25", "-3.0", "1.5"}) + "> : ";
    return OperationCase{{{shape}}, "net." + name + " %a, %k : " + printType(shape), constant + printType(shape)};
  };
  return {"net." + name, "f64 and a constant", draw};
}

void test::addElementwiseFamilies(std::vector<CaseFamily> &families) {
  addFloats(families);
  addIntegers(families);
  for (const char *name : {"multiply", "divide"})
    families.push_back(makeWithConstant(name));
  families.push_back({"net.compare", "any", drawCompare});
  families.push_back({"net.select", "f64", drawSelect});
  families.push_back({"net.reduce_precision", "f64", drawReducePrecision});
  families.push_back(makeConversion("convert", "f64", "f32"));
  families.push_back(makeConversion("convert", "f32", "f64"));
  families.push_back(makeConversion("convert", "f64", "i32"));
  families.push_back(makeConversion("convert", "i32", "f64"));
  families.push_back(makeConversion("convert", "i32", "f8E5M2"));
  families.push_back(makeConversion("convert", "f8E4M3FN", "i32"));
  families.push_back(makeConversion("bitcast_convert", "i64", "f64"));
  families.push_back(makeConversion("is_finite", "f64", "i1"));
}
