//===- MicroKernel.cpp - products in registers ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function is written once for vectors of any width, and compiled for those of AVX-512, of AVX2, and of every
// processor.
//
//===----------------------------------------------------------------------===//

#include "MicroKernel.h"
#include "meshwright/runtime/HalfFloats.h"
#include <type_traits>

using namespace meshwright::runtime;

namespace {

template <typename T, int vectorBytes> struct VectorType {
  /// In memory it is aligned as an element is.
  typedef T Type __attribute__((vector_size(vectorBytes), aligned(alignof(T))));
};
template <typename T, int vectorBytes> using VectorOf = typename VectorType<T, vectorBytes>::Type;

/// The same as BFloat16 does, for every lane. Unless `isNaNLong`, the lower 16 bits of a NaN are zeros: it stays one.
template <int vectorBytes, bool isNaNLong = true>
[[gnu::always_inline]] inline VectorOf<float, vectorBytes> roundToBFloat16(VectorOf<float, vectorBytes> value) {
  using Bits = VectorOf<int32_t, vectorBytes>;
  auto bits = __builtin_bit_cast(Bits, value);
  Bits rounded = bits + 0x7fff + ((bits >> 16) & 1);
  if constexpr (isNaNLong) {
    Bits isNaN = value != value;
    rounded = (rounded & ~isNaN) | ((bits | 0x400000) & isNaN);
  }
  return __builtin_bit_cast(VectorOf<float, vectorBytes>, rounded & static_cast<int32_t>(0xffff0000));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The sums of `rows` rows and `vectors` vectors of columns are in registers, beside the vectors of b and one of a.
template <typename T, int vectorBytes, int rows, int vectors>
[[gnu::always_inline]] inline void multiply(int64_t k, const T *a, const T *b, T *to, int64_t stride, Ending ending) {
  using Vector = VectorOf<T, vectorBytes>;
  constexpr int lanes = vectorBytes / sizeof(T), columns = vectors * lanes;
  Vector sum[rows][vectors] = {};
  // The places of the sums are needed at the end, and all at once.
#pragma clang loop unroll(full)
  for (int i = 0; i != rows; ++i)
    for (int begin = 0; begin < columns * static_cast<int>(sizeof(T)); begin += 64)
      __builtin_prefetch(reinterpret_cast<const std::byte *>(to + i * stride) + begin, 1);
  for (int64_t p = 0; p != k; ++p, a += rows, b += columns) {
    Vector right[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v != vectors; ++v)
      right[v] = *reinterpret_cast<const Vector *>(b + v * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i != rows; ++i)
#pragma clang loop unroll(full)
      for (int v = 0; v != vectors; ++v)
        sum[i][v] += a[i] * right[v];
  }
  auto finish = [&](auto round, auto roundTwo) {
#pragma clang loop unroll(full)
    for (int i = 0; i != rows; ++i)
#pragma clang loop unroll(full)
      for (int v = 0; v != vectors; ++v) {
        auto &place = *reinterpret_cast<Vector *>(to + i * stride + v * lanes);
        place = ending.adds ? roundTwo(place + round(sum[i][v])) : round(sum[i][v]);
      }
  };
  auto keep = [](Vector value) { return value; };
  if constexpr (std::is_same_v<T, float>) {
    auto roundShort = [](Vector value) { return roundToBFloat16<vectorBytes, /*isNaNLong=*/false>(value); };
    auto roundLong = [](Vector value) { return roundToBFloat16<vectorBytes>(value); };
    if (ending.rounds)
      return ending.isNaNLong ? finish(roundLong, roundShort) : finish(roundShort, roundShort);
  }
  finish(keep, keep);
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f"))) void multiplyAvx512(int64_t k, const T *a, const T *b, T *to, int64_t stride,
                                                       Ending ending) {
  multiply<T, 64, 8, 3>(k, a, b, to, stride, ending);
}
template <typename T>
__attribute__((target("avx2,fma"))) void multiplyAvx2(int64_t k, const T *a, const T *b, T *to, int64_t stride,
                                                      Ending ending) {
  multiply<T, 32, 6, 2>(k, a, b, to, stride, ending);
}
#endif
template <typename T> void multiplyAny(int64_t k, const T *a, const T *b, T *to, int64_t stride, Ending ending) {
  multiply<T, 16, 6, 2>(k, a, b, to, stride, ending);
}

//===----------------------------------------------------------------------===//
// Loops over sums
//===----------------------------------------------------------------------===//

/// Calls fn(i, bytes) for vectors of `vectorBytes` from element i on, then for vectors of one element.
template <int vectorBytes, typename Fn> [[gnu::always_inline]] inline void forEachVector(int64_t size, Fn fn) {
  constexpr int64_t lanes = vectorBytes / sizeof(float);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes)
    fn(i, std::integral_constant<int, vectorBytes>());
  for (; i != size; ++i)
    fn(i, std::integral_constant<int, sizeof(float)>());
}

template <int vectorBytes> [[gnu::always_inline]] inline void roundAll(float *sums, int64_t size) {
  forEachVector<vectorBytes>(size, [=](int64_t i, auto bytes) {
    auto &place = *reinterpret_cast<VectorOf<float, bytes()> *>(sums + i);
    place = roundToBFloat16<bytes()>(place);
  });
}

template <int vectorBytes> [[gnu::always_inline]] inline void addAll(float *sums, const float *others, int64_t size) {
  forEachVector<vectorBytes>(size, [=](int64_t i, auto bytes) {
    using Vector = VectorOf<float, bytes()>;
    auto &place = *reinterpret_cast<Vector *>(sums + i);
    place = roundToBFloat16<bytes(), /*isNaNLong=*/false>(place + *reinterpret_cast<const Vector *>(others + i));
  });
}

template <int vectorBytes>
[[gnu::always_inline]] inline void storeAll(const float *sums, int64_t m, int64_t n, std::byte *target, int64_t row) {
  for (int64_t line = 0; line != m; ++line, sums += n, target += row * static_cast<int64_t>(sizeof(BFloat16)))
    forEachVector<vectorBytes>(n, [=](int64_t i, auto bytes) {
      auto rounded = roundToBFloat16<bytes()>(*reinterpret_cast<const VectorOf<float, bytes()> *>(sums + i));
      auto bits = __builtin_bit_cast(VectorOf<uint32_t, bytes()>, rounded) >> 16;
      using Halves = VectorOf<uint16_t, bytes() / 2>;
      *reinterpret_cast<Halves *>(target + i * static_cast<int64_t>(sizeof(BFloat16))) =
          __builtin_convertvector(bits, Halves);
    });
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void roundAvx512(float *sums, int64_t size) { roundAll<64>(sums, size); }
__attribute__((target("avx2,fma"))) void roundAvx2(float *sums, int64_t size) { roundAll<32>(sums, size); }
__attribute__((target("avx512f"))) void addAvx512(float *sums, const float *others, int64_t size) {
  addAll<64>(sums, others, size);
}
__attribute__((target("avx2,fma"))) void addAvx2(float *sums, const float *others, int64_t size) {
  addAll<32>(sums, others, size);
}
__attribute__((target("avx512f"))) void storeAvx512(const float *sums, int64_t m, int64_t n, std::byte *target,
                                                    int64_t row, int64_t) {
  storeAll<64>(sums, m, n, target, row);
}
__attribute__((target("avx2,fma"))) void storeAvx2(const float *sums, int64_t m, int64_t n, std::byte *target,
                                                   int64_t row, int64_t) {
  storeAll<32>(sums, m, n, target, row);
}
#endif
void storeAny(const float *sums, int64_t m, int64_t n, std::byte *target, int64_t row, int64_t) {
  storeAll<16>(sums, m, n, target, row);
}

} // namespace

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

template <typename T> MicroKernel<T> meshwright::runtime::selectMicroKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {multiplyAvx512<T>, 8, 3 * 64 / sizeof(T)};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {multiplyAvx2<T>, 6, 2 * 32 / sizeof(T)};
#endif
  return {multiplyAny<T>, 6, 2 * 16 / sizeof(T)};
}

template MicroKernel<float> meshwright::runtime::selectMicroKernel();
template MicroKernel<double> meshwright::runtime::selectMicroKernel();
template MicroKernel<uint64_t> meshwright::runtime::selectMicroKernel();

BFloat16Loops meshwright::runtime::selectBFloat16Loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {roundAvx512, addAvx512, storeAvx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {roundAvx2, addAvx2, storeAvx2};
#endif
  return {roundAll<16>, addAll<16>, storeAny};
}
