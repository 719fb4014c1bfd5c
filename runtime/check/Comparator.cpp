//===- Comparator.cpp - when an element agrees ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Comparator.h"
#include <algorithm>
#include <cmath>

using namespace meshwright;
using namespace meshwright::runtime;

FiniteOutcome meshwright::runtime::compareFiniteness(double found, double expected, bool isSkipped) {
  bool isFound = std::isfinite(found), isExpected = std::isfinite(expected);
  if (isFound && isExpected)
    return FiniteOutcome::Finite;
  bool agree =
      !isFound && !isExpected && (isSkipped || found == expected || (std::isnan(found) && std::isnan(expected)));
  return agree ? FiniteOutcome::Agree : FiniteOutcome::Disagree;
}

/// The distance of 1 from the next number.
static double getEpsilon(DType type) {
  return isFloat(type) ? std::ldexp(1.0, -static_cast<int>(getMantissaBits(type))) : 0;
}

void meshwright::runtime::perturb(DType type, std::span<std::byte> value, DType arithmetic, uint64_t seed,
                                  double places) {
  double epsilon = places * std::max(getEpsilon(type), getEpsilon(arithmetic));
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      T *elements = reinterpret_cast<T *>(value.data());
      for (uint64_t i = 0, n = value.size() / sizeof(T); i != n; ++i) {
        double sign = (mixBits(mixBits(seed) + i) & 1) != 0 ? 1.0 : -1.0;
        if constexpr (std::is_same_v<T, double>)
          elements[i] *= 1 + sign * epsilon;
        else
          elements[i] = T(static_cast<float>(static_cast<float>(elements[i]) * (1 + sign * epsilon)));
      }
    }
  });
}
