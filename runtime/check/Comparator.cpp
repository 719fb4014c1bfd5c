//===- Comparator.cpp - when two values agree -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Comparator.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

/// The distance of 1 from the next number.
static double getEpsilon(DType type) {
  return isFloat(type) ? std::ldexp(1.0, -static_cast<int>(getMantissaBits(type))) : 0;
}

double meshwright::runtime::getTolerance(DType type) {
  switch (type) {
  case F64:
    return 1e-11;
  case F32:
    return 1e-4;
  case F16:
    return 8 * 0x1p-10;
  case BF16:
    return 8 * 0x1p-7;
  default:
    // One rounding more or less is all that can be asked of 8 bits.
    return isFloat8(type) ? getEpsilon(type) : 0;
  }
}

namespace {

template <typename T> double toDouble(T value) {
  if constexpr (isNarrowFloat<T>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

template <typename T> T load(const TensorView &view, uint64_t i) {
  T value;
  std::memcpy(&value, view.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

/// The norm of element(0) ... element(n - 1), which are finite or not. Squares that leave the range of doubles are
/// summed a second time, divided by the largest element.
template <typename Fn> double norm(uint64_t n, Fn element) {
  // Eight sums side by side: vectors, and less rounding than one.
  double sums[8] = {};
  for (uint64_t i = 0; i != n; ++i) {
    double x = element(i);
    sums[i & 7] += x * x;
  }
  double sum = 0;
  for (double part : sums)
    sum += part;
  if (sum >= 0x1p-900 && sum <= 0x1p+900)
    return std::sqrt(sum);
  double largest = 0;
  for (uint64_t i = 0; i != n; ++i) {
    double x = std::fabs(element(i));
    if (!(x <= largest))
      largest = x;
    if (std::isnan(x))
      return x;
  }
  if (largest == 0 || std::isinf(largest))
    return largest;
  sum = 0;
  for (uint64_t i = 0; i != n; ++i) {
    double x = element(i) / largest;
    sum += x * x;
  }
  return largest * std::sqrt(sum);
}

} // namespace

double meshwright::runtime::getNorm(const TensorView &value) {
  return dispatch(value.type, [&](auto zero) {
    using T = decltype(zero);
    return norm(value.size(), [&](uint64_t i) { return toDouble(load<T>(value, i)); });
  });
}

Comparison meshwright::runtime::compare(const TensorView &a, const TensorView &b, double scale, DType arithmetic,
                                        double noise, bool isSkipped) {
  assert(a.type == b.type && a.bytes.size() == b.bytes.size() && "only values of one type and shape are compared");
  Comparison result;
  uint64_t size = getSize(a.type);
  if (a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0)
    return result;
  if (!isFloat(a.type)) {
    for (uint64_t i = 0, n = a.bytes.size(); i != n; i += size)
      result.difference += std::memcmp(a.bytes.data() + i, b.bytes.data() + i, size) != 0;
    return result;
  }
  result.tolerance = std::max({getTolerance(a.type), getTolerance(arithmetic), 8 * noise});
  return dispatch(a.type, [&](auto zero) {
    using T = decltype(zero);
    double distance = norm(a.size(), [&](uint64_t i) {
      double x = toDouble(load<T>(a, i)), y = toDouble(load<T>(b, i));
      bool agree = x == y || (std::isnan(x) && std::isnan(y)) || (isSkipped && !std::isfinite(x) && !std::isfinite(y));
      return agree ? 0.0 : x - y;
    });
    // Elements of the reference that are not finite would make every difference vanish beside them.
    double reference = norm(b.size(), [&](uint64_t i) {
      double y = toDouble(load<T>(b, i));
      return std::isfinite(y) ? y : 0.0;
    });
    double yardstick = std::max(reference, scale);
    result.difference = distance == 0 ? 0 : distance / yardstick;
    return result;
  });
}

void meshwright::runtime::perturb(DType type, std::span<std::byte> value, DType arithmetic) {
  double epsilon = std::max(getEpsilon(type), getEpsilon(arithmetic));
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      T *elements = reinterpret_cast<T *>(value.data());
      for (uint64_t i = 0, n = value.size() / sizeof(T); i != n; ++i) {
        double sign = (i * 0x9e3779b97f4a7c15) >> 63 ? 1.0 : -1.0;
        double changed = toDouble(elements[i]) * (1 + sign * epsilon);
        if constexpr (std::is_same_v<T, double>)
          elements[i] = changed;
        else
          elements[i] = T(static_cast<float>(changed));
      }
    }
  });
}
