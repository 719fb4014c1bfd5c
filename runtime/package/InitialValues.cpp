//===- InitialValues.cpp - values of variables before step 0 --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled with -ffp-contract=off: a product and a sum are two roundings, as in numpy.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/InitialValues.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Random bits: a counter through the finalizer of a 64-bit mixing function
//===----------------------------------------------------------------------===//

static constexpr uint64_t golden = 0x9e3779b97f4a7c15;

static inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The counter-th 53 random bits of a stream.
static inline uint64_t draw(uint64_t key, uint64_t counter) { return mix(key + (counter + 1) * golden) >> 11; }

uint64_t meshwright::runtime::getStreamKey(std::string_view name, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix(hash + mix(seed + golden));
}

//===----------------------------------------------------------------------===//
// Normal deviates: Box and Muller's transform
//===----------------------------------------------------------------------===//

/// ln x for a positive normal x: x = 2^e m with m in [sqrt(1/2), sqrt 2), ln m = 2 artanh((m - 1) / (m + 1)).
[[gnu::always_inline]] static inline double logarithm(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  double m = std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  // The exponent as a double without a conversion: 2^52 + biased exponent, less 2^52 + 1023.
  double e = std::bit_cast<double>((bits >> 52) | 0x4330000000000000) - 4503599627371519.0;
  bool high = m >= 0x1.6a09e667f3bcdp+0;
  m = high ? m * 0.5 : m;
  e = high ? e + 1.0 : e;
  double s = (m - 1.0) / (m + 1.0);
  double t = s * s;
  double sum = 1.0 / 21.0;
#pragma clang loop unroll(full)
  for (int k = 19; k >= 1; k -= 2)
    sum = sum * t + 1.0 / k;
  return e * 0x1.62e42fefa39efp-1 + 2.0 * s * sum;
}

/// cos(2 pi u) for u in [0, 1): by quarters of the circle, with Taylor's polynomials on [-pi/4, pi/4].
[[gnu::always_inline]] static inline double cosine(double u) {
  double quarter = u >= 0.875 ? 4.0 : u >= 0.625 ? 3.0 : u >= 0.375 ? 2.0 : u >= 0.125 ? 1.0 : 0.0;
  double x = (u * 4.0 - quarter) * 0x1.921fb54442d18p+0;
  double t = x * x;
  double c = 1.0, s = 1.0;
#pragma clang loop unroll(full)
  for (int k = 18; k >= 2; k -= 2) {
    c = 1.0 - c * t * (1.0 / (k * (k - 1)));
    s = 1.0 - s * t * (1.0 / (k * (k + 1)));
  }
  s = s * x;
  double value = quarter == 1.0 || quarter == 3.0 ? s : c;
  return quarter == 1.0 || quarter == 2.0 ? -value : value;
}

/// Normal deviates of the elements of these indices.
[[gnu::always_inline]] static inline void computeNormals(uint64_t key, const uint64_t *indices, uint64_t count,
                                                         double *to) {
  for (uint64_t i = 0; i != count; ++i) {
    double u = static_cast<double>(draw(key, 2 * indices[i]) + 1) * 0x1p-53; // in (0, 1]
    double v = static_cast<double>(draw(key, 2 * indices[i] + 1)) * 0x1p-53; // in [0, 1)
    to[i] = std::sqrt(-2.0 * logarithm(u)) * cosine(v);
  }
}

// The same operations on as many elements at a time as the CPU has lanes for; each is rounded as it is alone.
using NormalsFn = void (*)(uint64_t key, const uint64_t *indices, uint64_t count, double *to);
#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq"))) static void computeNormalsAvx512(uint64_t key, const uint64_t *indices,
                                                                             uint64_t count, double *to) {
  computeNormals(key, indices, count, to);
}
__attribute__((target("avx2"))) static void computeNormalsAvx2(uint64_t key, const uint64_t *indices, uint64_t count,
                                                               double *to) {
  computeNormals(key, indices, count, to);
}
#endif
static void computeNormalsAny(uint64_t key, const uint64_t *indices, uint64_t count, double *to) {
  computeNormals(key, indices, count, to);
}

static NormalsFn selectNormals() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return computeNormalsAvx512;
  if (__builtin_cpu_supports("avx2"))
    return computeNormalsAvx2;
#endif
  return computeNormalsAny;
}

/// Draws again what is beyond two standard deviations: the first that is not, of the streams mix(key ^ 1), mix(key ^
/// 2)...
static void truncate(uint64_t key, const uint64_t *indices, uint64_t count, double *values) {
  for (uint64_t i = 0; i != count; ++i)
    for (uint64_t attempt = 1; !(std::fabs(values[i]) <= 2.0); ++attempt)
      computeNormalsAny(mix(key ^ attempt), &indices[i], 1, &values[i]);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {

template <typename T> T fromDouble(double value) {
  if constexpr (isNarrowFloat<T>)
    return T(static_cast<float>(value));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::floor(value));
  else
    return static_cast<T>(value);
}

template <typename T> double toDouble(T value) {
  if constexpr (isNarrowFloat<T>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

template <typename T> T uniform(const Initializer &init, uint64_t key, uint64_t index) {
  double u = static_cast<double>(draw(key, index)) * 0x1p-53;
  T value = fromDouble<T>(init.a() + (init.b() - init.a()) * u);
  // Rounding may reach the upper bound, which is not in the interval.
  return toDouble(value) < init.b() ? value : fromDouble<T>(init.a());
}

/// Runs of normal deviates, by way of a buffer that stays in the cache: many short runs cost what a long one does.
template <typename T> class NormalRuns {
public:
  NormalRuns(const Initializer &init, uint64_t key) : init(init), key(key) {}

  void add(uint64_t index, uint64_t count, T *to) {
    while (count != 0) {
      uint64_t n = std::min(count, capacity - filled);
      for (uint64_t i = 0; i != n; ++i)
        indices[filled + i] = index + i;
      runs[numRuns++] = {to, n};
      filled += n;
      index += n;
      to += n;
      count -= n;
      if (filled == capacity)
        flush();
    }
  }
  void flush() {
    static const NormalsFn compute = selectNormals();
    compute(key, indices, filled, values);
    if (init.kind() == Initializer::TRUNCATED_NORMAL)
      truncate(key, indices, filled, values);
    double a = init.a(), b = init.b();
    const double *from = values;
    for (const Run &run : std::span(runs, numRuns)) {
      for (uint64_t i = 0; i != run.count; ++i)
        run.to[i] = fromDouble<T>(a + b * from[i]);
      from += run.count;
    }
    filled = numRuns = 0;
  }

private:
  static constexpr uint64_t capacity = 512;
  struct Run {
    T *to;
    uint64_t count;
  };
  const Initializer &init;
  uint64_t key;
  uint64_t indices[capacity];
  double values[capacity];
  Run runs[capacity];
  uint64_t filled = 0, numRuns = 0;
};

/// Calls forEach(fn), which calls fn(index, count, to) for every run, and fills the runs.
template <typename T, typename ForEach> void fillRuns(const Initializer &init, uint64_t key, ForEach &&forEach) {
  switch (init.kind()) {
  case Initializer::NORMAL:
  case Initializer::TRUNCATED_NORMAL: {
    NormalRuns<T> runs(init, key);
    forEach([&](uint64_t index, uint64_t count, T *to) { runs.add(index, count, to); });
    return runs.flush();
  }
  case Initializer::UNIFORM:
    return forEach([&](uint64_t index, uint64_t count, T *to) {
      for (uint64_t i = 0; i != count; ++i)
        to[i] = uniform<T>(init, key, index + i);
    });
  default:
    return forEach([&](uint64_t, uint64_t count, T *to) { std::fill(to, to + count, fromDouble<T>(init.a())); });
  }
}

/// The interval of doubles that floor to a T.
template <typename T> bool fitsInteger(double value) {
  double low = static_cast<double>(std::numeric_limits<T>::min());
  double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value >= low && value < high;
}

} // namespace

Status meshwright::runtime::checkInitializer(const Initializer &init, DType type) {
  bool constant = init.kind() == Initializer::CONSTANT;
  bool uniform = init.kind() == Initializer::UNIFORM;
  bool isNormal = init.kind() == Initializer::NORMAL || init.kind() == Initializer::TRUNCATED_NORMAL;
  if (!constant && !uniform && !isNormal)
    return inputError("initializer kind {} is none of constant, normal, truncated normal and uniform",
                      static_cast<int>(init.kind()));
  if (!constant && (!std::isfinite(init.a()) || !std::isfinite(init.b())))
    return inputError("the initializer's parameters are {} and {}, which are not both finite", init.a(), init.b());
  if (isNormal && !isFloat(type))
    return inputError("a normal initializer gives floats and the variable is {}", getName(type));
  if (isNormal && init.b() < 0)
    return inputError("the initializer's standard deviation is {}, below 0", init.b());
  if (uniform && !(init.a() < init.b()))
    return inputError("the initializer's interval from {} to {} is empty", init.a(), init.b());
  if (isFloat(type))
    return {};
  return dispatch(type, [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      double last = uniform ? std::nextafter(init.b(), init.a()) : init.a();
      bool fits = fitsInteger<T>(init.a()) && fitsInteger<T>(last) && (type != I1 || (init.a() >= 0 && last < 2));
      if (!fits || (constant && std::floor(init.a()) != init.a()))
        return inputError("the initializer's value {} is no {}", init.a(), getName(type));
    }
    return {};
  });
}

void meshwright::runtime::fillInitialValues(const Initializer &init, uint64_t key, uint64_t index, uint64_t count,
                                            DType type, std::byte *to) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    fillRuns<T>(init, key, [&](auto &&fill) { fill(index, count, reinterpret_cast<T *>(to)); });
  });
}

void meshwright::runtime::fillInitialValues(const Initializer &init, uint64_t key, const LocalPart &part, DType type,
                                            std::span<std::byte> local, uint64_t begin, uint64_t end) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    T *elements = reinterpret_cast<T *>(local.data());
    uint64_t done = begin;
    // Runs ascend in the rank's array; the elements between them are padding.
    fillRuns<T>(init, key, [&](auto &&fill) {
      part.forEachRun([&](int64_t to, int64_t from, int64_t count) {
        uint64_t first = std::max<uint64_t>(to, begin), last = std::min<uint64_t>(to + count, end);
        if (first >= last)
          return;
        std::fill(elements + done, elements + first, T());
        fill(from + (first - to), last - first, elements + first);
        done = last;
      });
    });
    std::fill(elements + done, elements + std::max(done, end), T());
  });
}
