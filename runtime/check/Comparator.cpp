//===- Comparator.cpp - when an element agrees ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Comparator.h"
#include "meshwright/runtime/Rounding.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

ElementSamples::ElementSamples(DType type, double found, double reference, std::optional<double> old)
    : type(type), found(found), reference(reference),
      magnitude(std::max(std::fabs(reference), std::fabs(old.value_or(0)))), old(old),
      change(old ? std::fabs(reference - *old) : 0) {}

void ElementSamples::add(double sample, unsigned places) {
  // A sample that is not finite says nothing of the size of an error.
  if (!std::isfinite(sample))
    return;
  magnitude = std::max(magnitude, std::fabs(sample));
  error = std::max(error, std::fabs(sample - reference) / places - getSpacing(type, magnitude));
  if (old)
    change = std::max(change, std::fabs(sample - *old));
}

double ElementSamples::getError() const { return std::fabs(found - reference); }

double ElementSamples::getAllowed() const {
  double allowed = errorFactor * error;
  if (old)
    allowed = std::min(allowed, 2 * change);
  return allowed + lastPlaces * getSpacing(type, magnitude);
}

double ElementSamples::getRatio() const { return getError() == 0 ? 0 : getError() / getAllowed(); }

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
                                  unsigned places) {
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
