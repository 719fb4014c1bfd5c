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
#include <utility>

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

/// Slivers of so many rows and vectors of columns, packed or in the operands themselves.
template <int mostRows, int mostVectors, bool packedRows, bool packedLines> struct Slivers {
  static constexpr int rows = mostRows, vectors = mostVectors;
  static constexpr bool hasPackedRows = packedRows, hasPackedLines = packedLines;
  /// True if all rows and columns of packed slivers are multiplied.
  template <int someRows, int someVectors>
  static constexpr bool isWhole = packedRows && packedLines && someRows == rows && someVectors == vectors;
};

/// The sums of `rows` rows and `vectors` vectors of columns are in registers, beside the vectors of b and one of a.
template <typename T, int vectorBytes, typename Form, int rows, int vectors>
[[gnu::always_inline]] inline void multiply(const Tile<T> &tile) {
  using Vector = VectorOf<T, vectorBytes>;
  constexpr int lanes = vectorBytes / sizeof(T), columns = vectors * lanes;
  const T *a = tile.lhs, *b = tile.rhs;
  T *to = tile.out, *packed = tile.packed;
  int64_t row = Form::hasPackedRows ? 1 : tile.lhsRow, column = Form::hasPackedRows ? Form::rows : tile.lhsColumn;
  int64_t line = Form::hasPackedLines ? Form::vectors * lanes : tile.rhsRow;
  Ending ending = tile.ending;
  Vector sum[rows][vectors] = {};
  // The places of the sums are needed at the end, and all at once.
#pragma clang loop unroll(full)
  for (int i = 0; i != rows; ++i)
    for (int begin = 0; begin < columns * static_cast<int>(sizeof(T)); begin += 64)
      __builtin_prefetch(reinterpret_cast<const std::byte *>(to + i * tile.outRow) + begin, 1);
  for (int64_t p = 0, k = tile.k; p != k; ++p, a += column, b += line) {
    Vector right[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v != vectors; ++v) {
      right[v] = *reinterpret_cast<const Vector *>(b + v * lanes);
      if constexpr (!Form::hasPackedLines)
        *reinterpret_cast<Vector *>(packed + v * lanes) = right[v];
    }
    if constexpr (!Form::hasPackedLines)
      packed += Form::vectors * lanes;
#pragma clang loop unroll(full)
    for (int i = 0; i != rows; ++i)
#pragma clang loop unroll(full)
      for (int v = 0; v != vectors; ++v)
        sum[i][v] += a[i * row] * right[v];
  }
  auto finish = [&](auto round, auto roundTwo) {
#pragma clang loop unroll(full)
    for (int i = 0; i != rows; ++i)
#pragma clang loop unroll(full)
      for (int v = 0; v != vectors; ++v) {
        auto &place = *reinterpret_cast<Vector *>(to + i * tile.outRow + v * lanes);
        place = ending.adds ? roundTwo(place + round(sum[i][v])) : round(sum[i][v]);
      }
  };
  auto keep = [](Vector value) { return value; };
  if constexpr (std::is_same_v<T, float> && Form::template isWhole<rows, vectors>) {
    auto roundShort = [](Vector value) { return roundToBFloat16<vectorBytes, /*isNaNLong=*/false>(value); };
    auto roundLong = [](Vector value) { return roundToBFloat16<vectorBytes>(value); };
    if (ending.rounds)
      return ending.isNaNLong ? finish(roundLong, roundShort) : finish(roundShort, roundShort);
  }
  finish(keep, keep);
}

#if defined(__x86_64__)
template <typename T, typename Form, int rows, int vectors>
__attribute__((target("avx512f"))) void multiplyAvx512(const Tile<T> &tile) {
  multiply<T, 64, Form, rows, vectors>(tile);
}
template <typename T, typename Form, int rows, int vectors>
__attribute__((target("avx2,fma"))) void multiplyAvx2(const Tile<T> &tile) {
  multiply<T, 32, Form, rows, vectors>(tile);
}
#endif
template <typename T, typename Form, int rows, int vectors> void multiplyAny(const Tile<T> &tile) {
  multiply<T, 16, Form, rows, vectors>(tile);
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

/// A micro-kernel of up to `rows` rows and `vectors` vectors, made of the functions that `get` returns.
template <typename T, int rows, int vectors, typename Get>
static MicroKernel<T> makeMicroKernel(int64_t lanes, Get get) {
  MicroKernel<T> kernel;
  kernel.rows = rows;
  kernel.lanes = lanes;
  kernel.columns = vectors * lanes;
  auto fill = [&]<bool packedRows, bool packedLines, int... i>(std::integer_sequence<int, i...>) {
    using Form = Slivers<rows, vectors, packedRows, packedLines>;
    auto &functions = kernel.functions[packedRows][packedLines];
    ((functions[i][0] = get.template operator()<Form, i + 1, 1>()), ...);
    ((functions[i][1] = get.template operator()<Form, i + 1, vectors>()), ...);
  };
  auto numbers = std::make_integer_sequence<int, rows>();
  fill.template operator()<true, true>(numbers);
  if constexpr (std::is_same_v<T, float>) {
    fill.template operator()<true, false>(numbers);
    fill.template operator()<false, true>(numbers);
    fill.template operator()<false, false>(numbers);
  }
  return kernel;
}

template <typename T> static MicroKernel<T> makeMicroKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return makeMicroKernel<T, 8, 3>(
        64 / sizeof(T), []<typename Form, int rows, int vectors>() { return multiplyAvx512<T, Form, rows, vectors>; });
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return makeMicroKernel<T, 6, 2>(
        32 / sizeof(T), []<typename Form, int rows, int vectors>() { return multiplyAvx2<T, Form, rows, vectors>; });
#endif
  return makeMicroKernel<T, 6, 2>(
      16 / sizeof(T), []<typename Form, int rows, int vectors>() { return multiplyAny<T, Form, rows, vectors>; });
}

template <typename T> const MicroKernel<T> &meshwright::runtime::selectMicroKernel() {
  static const MicroKernel<T> kernel = makeMicroKernel<T>();
  return kernel;
}

template const MicroKernel<float> &meshwright::runtime::selectMicroKernel();
template const MicroKernel<double> &meshwright::runtime::selectMicroKernel();
template const MicroKernel<uint64_t> &meshwright::runtime::selectMicroKernel();

BFloat16Loops meshwright::runtime::selectBFloat16Loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {roundAvx512, addAvx512, storeAvx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {roundAvx2, addAvx2, storeAvx2};
#endif
  return {roundAll<16>, addAll<16>, storeAny};
}
