//===- ExactFunctions.cpp - the functions that exact kernels call ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes stand for functions of residues. Infinities and NaN go through the function of floats, so that a mask of -inf
// still makes an exponential 0.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/ExactFunctions.h"
#include "meshwright/runtime/DType.h"
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static double evaluateFloat(ExactFunction function, double x) {
  switch (function) {
  case ExactFunction::Abs:
    return std::fabs(x);
  case ExactFunction::Acos:
    return std::acos(x);
  case ExactFunction::Acosh:
    return std::acosh(x);
  case ExactFunction::Asin:
    return std::asin(x);
  case ExactFunction::Asinh:
    return std::asinh(x);
  case ExactFunction::Atan:
    return std::atan(x);
  case ExactFunction::Atanh:
    return std::atanh(x);
  case ExactFunction::Cbrt:
    return std::cbrt(x);
  case ExactFunction::Ceil:
    return std::ceil(x);
  case ExactFunction::Cos:
    return std::cos(x);
  case ExactFunction::Cosh:
    return std::cosh(x);
  case ExactFunction::Erf:
    return std::erf(x);
  case ExactFunction::Erfc:
    return std::erfc(x);
  case ExactFunction::Exp:
    return std::exp(x);
  case ExactFunction::Exp2:
    return std::exp2(x);
  case ExactFunction::ExpM1:
    return std::expm1(x);
  case ExactFunction::Floor:
    return std::floor(x);
  case ExactFunction::Log:
    return std::log(x);
  case ExactFunction::Log10:
    return std::log10(x);
  case ExactFunction::Log1P:
    return std::log1p(x);
  case ExactFunction::Log2:
    return std::log2(x);
  case ExactFunction::Round:
    return std::round(x);
  case ExactFunction::RoundEven:
    return std::nearbyint(x);
  case ExactFunction::ReciprocalSqrt:
    return 1 / std::sqrt(x);
  case ExactFunction::Sin:
    return std::sin(x);
  case ExactFunction::Sinh:
    return std::sinh(x);
  case ExactFunction::Sqrt:
    return std::sqrt(x);
  case ExactFunction::Tan:
    return std::tan(x);
  case ExactFunction::Tanh:
    return std::tanh(x);
  case ExactFunction::Trunc:
    return std::trunc(x);
  default:
    return std::numeric_limits<double>::quiet_NaN();
  }
}

static double evaluateFloat(ExactFunction function, double x, double y) {
  switch (function) {
  case ExactFunction::Atan2:
    return std::atan2(x, y);
  case ExactFunction::CopySign:
    return std::copysign(x, y);
  case ExactFunction::Power:
    return std::pow(x, y);
  case ExactFunction::Remainder:
    return std::fmod(x, y);
  default:
    return std::numeric_limits<double>::quiet_NaN();
  }
}

static uint64_t getKey(ExactFunction function) { return mixBits(static_cast<uint64_t>(function) + 1); }

Residue meshwright::runtime::evaluate(ExactFunction function, Residue operand) {
  if (!operand.isFinite())
    return Residue(evaluateFloat(function, static_cast<double>(operand)));
  return hashToResidue(operand.getBits() ^ getKey(function));
}

Residue meshwright::runtime::evaluate(ExactFunction function, Residue lhs, Residue rhs) {
  if (!lhs.isFinite() || !rhs.isFinite())
    return Residue(evaluateFloat(function, static_cast<double>(lhs), static_cast<double>(rhs)));
  return hashToResidue(mixBits(lhs.getBits() ^ getKey(function)) + rhs.getBits());
}

//===----------------------------------------------------------------------===//
// The table for kernels
//===----------------------------------------------------------------------===//

static Residue toResidue(uint64_t bits) { return Residue::fromBits(bits); }

/// Chooses either of equal operands. Where `prefersNumber`, a NaN loses.
static Residue choose(Residue lhs, Residue rhs, bool largest, bool prefersNumber) {
  if (lhs.isNaN() || rhs.isNaN())
    return prefersNumber && !(lhs.isNaN() && rhs.isNaN()) ? (lhs.isNaN() ? rhs : lhs) : Residue::nan();
  return (lhs < rhs) == largest ? rhs : lhs;
}

static uint64_t compare(uint64_t mask, uint64_t lhs, uint64_t rhs) {
  Residue a = toResidue(lhs), b = toResidue(rhs);
  uint64_t outcome = a.isNaN() || b.isNaN() ? ExactUnordered : a == b ? ExactEqual : a < b ? ExactLess : ExactGreater;
  return (mask & outcome) != 0;
}

static uint64_t toInteger(uint64_t operand) {
  constexpr int64_t kLargest = int64_t(1) << 53;
  Residue residue = toResidue(operand);
  if (!residue.isFinite())
    return residue.getSign() == 0 ? 0 : residue.getSign() < 0 ? uint64_t(INT64_MIN) : uint64_t(INT64_MAX);
  int64_t value = residue.toSmallest();
  return value > -kLargest && value < kLargest ? static_cast<uint64_t>(value) : mixBits(operand);
}

static uint64_t fromPattern(uint64_t type, uint64_t pattern) {
  // Little-endian: the lower bytes are the element's.
  return Residue(loadAsDouble(static_cast<DType>(type), &pattern)).getBits();
}

static uint64_t toPattern(uint64_t type, uint64_t operand) {
  Residue residue = toResidue(operand);
  if (residue.isFinite())
    return mixBits(operand + type);
  return dispatch(static_cast<DType>(type), [&](auto zero) -> uint64_t {
    using T = decltype(zero);
    uint64_t pattern = 0;
    if constexpr (!std::is_integral_v<T>) {
      zero = T(static_cast<float>(residue));
      std::memcpy(&pattern, &zero, sizeof(zero));
    }
    return pattern;
  });
}

const ExactFunctions &meshwright::runtime::getExactFunctions() {
  static_assert(sizeof(ExactFunctions) == std::size(exactFunctionNames) * sizeof(void *));
  static const ExactFunctions functions = {
      .add = [](uint64_t a, uint64_t b) { return (toResidue(a) + toResidue(b)).getBits(); },
      .subtract = [](uint64_t a, uint64_t b) { return (toResidue(a) - toResidue(b)).getBits(); },
      .multiply = [](uint64_t a, uint64_t b) { return (toResidue(a) * toResidue(b)).getBits(); },
      .divide = [](uint64_t a, uint64_t b) { return (toResidue(a) / toResidue(b)).getBits(); },
      .negate = [](uint64_t a) { return (-toResidue(a)).getBits(); },
      .maximum = [](uint64_t a, uint64_t b) { return choose(toResidue(a), toResidue(b), true, false).getBits(); },
      .minimum = [](uint64_t a, uint64_t b) { return choose(toResidue(a), toResidue(b), false, false).getBits(); },
      .maximumNumber = [](uint64_t a, uint64_t b) { return choose(toResidue(a), toResidue(b), true, true).getBits(); },
      .minimumNumber = [](uint64_t a, uint64_t b) { return choose(toResidue(a), toResidue(b), false, true).getBits(); },
      .compare = compare,
      .evaluateOne = [](uint64_t function,
                        uint64_t a) { return evaluate(static_cast<ExactFunction>(function), toResidue(a)).getBits(); },
      .evaluateTwo =
          [](uint64_t function, uint64_t a, uint64_t b) {
            return evaluate(static_cast<ExactFunction>(function), toResidue(a), toResidue(b)).getBits();
          },
      .fromSigned = [](uint64_t value) { return Residue::fromSigned(static_cast<int64_t>(value)).getBits(); },
      .fromUnsigned = [](uint64_t value) { return Residue::fromUnsigned(value).getBits(); },
      .toInteger = toInteger,
      .fromPattern = fromPattern,
      .toPattern = toPattern,
  };
  return functions;
}
