//===- AmxPlanes.h - floats as planes of bf16 in tiles ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over tiles of AMX share how they divide floats into planes, and how they multiply those (see AmxMatmul.cpp).
//
// A tile has 16 lines of 32 numbers, in pairs. A line of the left operand is a row, with 16 pairs of positions of k;
// one of the right operand is a pair, of 16 columns. The second number of a pair is usually 16 positions after the
// first.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_AMXPLANES_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_AMXPLANES_H

#if defined(__x86_64__) && defined(__linux__)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <utility>

#define TARGET_AMX __attribute__((target("avx512f,amx-tile,amx-bf16")))
#define TARGET_AMX_INLINE __attribute__((target("avx512f,amx-tile,amx-bf16"), always_inline)) inline

namespace meshwright::runtime {

/// Lines of a tile, bytes of each, and pairs of numbers in it.
constexpr int64_t tileLines = 16, lineBytes = 64, tileBytes = tileLines * lineBytes, tileDepth = 32;
constexpr int64_t numPlanes = 3;
/// A sliver has two tiles of rows or columns. For each 32 positions of k it has those of the first plane, of the
/// second, and of the third.
constexpr int64_t sliverLines = 2 * tileLines, planeBytes = 2 * tileBytes, stepBytes = numPlanes * planeBytes;
/// Elements of a result that the micro-kernel computes at once.
constexpr int64_t squareSize = sliverLines * sliverLines;
/// Bytes of a line of these, and the distance of those of the second tile of rows.
constexpr int64_t sumBytes = sliverLines * sizeof(float), lowerSums = tileLines * sliverLines;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Transposes 16 lines of 16 floats.
TARGET_AMX_INLINE void transpose(__m512 (&lines)[16]) {
  __m512d pairs[16];
  for (int i = 0; i != 16; i += 4) {
    __m512 low01 = _mm512_unpacklo_ps(lines[i], lines[i + 1]), high01 = _mm512_unpackhi_ps(lines[i], lines[i + 1]),
           low23 = _mm512_unpacklo_ps(lines[i + 2], lines[i + 3]),
           high23 = _mm512_unpackhi_ps(lines[i + 2], lines[i + 3]);
    pairs[i] = _mm512_unpacklo_pd(_mm512_castps_pd(low01), _mm512_castps_pd(low23));
    pairs[i + 1] = _mm512_unpackhi_pd(_mm512_castps_pd(low01), _mm512_castps_pd(low23));
    pairs[i + 2] = _mm512_unpacklo_pd(_mm512_castps_pd(high01), _mm512_castps_pd(high23));
    pairs[i + 3] = _mm512_unpackhi_pd(_mm512_castps_pd(high01), _mm512_castps_pd(high23));
  }
  // Quarter q of pairs[4 g + j] has lines 4 g to 4 g + 3 of column 4 q + j.
  for (int j = 0; j != 4; ++j) {
    __m512 a = _mm512_castpd_ps(pairs[j]), b = _mm512_castpd_ps(pairs[4 + j]), c = _mm512_castpd_ps(pairs[8 + j]),
           d = _mm512_castpd_ps(pairs[12 + j]);
    __m512 even01 = _mm512_shuffle_f32x4(a, b, 0x88), odd01 = _mm512_shuffle_f32x4(a, b, 0xdd),
           even23 = _mm512_shuffle_f32x4(c, d, 0x88), odd23 = _mm512_shuffle_f32x4(c, d, 0xdd);
    lines[j] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    lines[4 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    lines[8 + j] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    lines[12 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

/// A mask of the first `count` of 16 elements.
inline uint16_t maskOf(int64_t count) { return static_cast<uint16_t>((1U << count) - 1); }

/// Reads 16 lines of 16 floats; zeros are beyond `numLines` and `length`. One of the strides is 1.
TARGET_AMX_INLINE void readSquare(const float *from, int64_t lineStride, int64_t stride, int64_t numLines,
                                  int64_t length, __m512 (&lines)[16]) {
  bool isTransposed = stride != 1;
  if (isTransposed) {
    std::swap(lineStride, stride);
    std::swap(numLines, length);
  }
  uint16_t mask = maskOf(length);
  for (int i = 0; i != 16; ++i)
    lines[i] = i < numLines ? _mm512_maskz_loadu_ps(mask, from + i * lineStride) : _mm512_setzero_ps();
  if (isTransposed)
    transpose(lines);
}

/// Writes the planes of pairs of floats, each a line of its own, `plane` bytes after the one before.
TARGET_AMX_INLINE void writePlanes(__m512 first, __m512 second, std::byte *to, int64_t plane = planeBytes) {
  // Rounds to the nearest number of bf16, and away from zero if there are two: the lower half does not count.
  const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  auto round = [&](__m512 value) TARGET_AMX { return _mm512_add_epi32(_mm512_castps_si512(value), half); };
  // The upper halves of two vectors, side by side in each lane.
  auto join = [&](__m512i low, __m512i high) TARGET_AMX {
    constexpr int selectHigh = 0xf8; // a | (b & c)
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(low, 16), high, upper, selectHigh);
  };
  auto dropLower = [&](__m512i bits) TARGET_AMX { return _mm512_castsi512_ps(_mm512_and_si512(bits, upper)); };
  for (int i = 0; i != numPlanes - 1; ++i) {
    __m512i low = round(first), high = round(second);
    _mm512_store_si512(to + i * plane, join(low, high));
    first = _mm512_sub_ps(first, dropLower(low));
    second = _mm512_sub_ps(second, dropLower(high));
  }
  // The rest has eight digits. It is not rounded, so that a NaN stays one.
  _mm512_store_si512(to + (numPlanes - 1) * plane, join(_mm512_castps_si512(first), _mm512_castps_si512(second)));
}

/// Packs up to 16 rows, or columns, and 32 positions of k into a tile of each plane; zeros are beyond `count` and `k`.
template <bool isLeft>
TARGET_AMX inline void packTile(const float *from, int64_t count, int64_t k, int64_t stride, int64_t kStride,
                                std::byte *to) {
  __m512 first[16], second[16];
  int64_t firstK = std::min(k, tileLines), secondK = k - firstK;
  const float *after = from + firstK * kStride;
  if constexpr (isLeft) {
    readSquare(from, stride, kStride, count, firstK, first);
    readSquare(after, stride, kStride, count, secondK, second);
  } else {
    readSquare(from, kStride, stride, firstK, count, first);
    readSquare(after, kStride, stride, secondK, count, second);
  }
  for (int line = 0; line != tileLines; ++line)
    writePlanes(first[line], second[line], to + line * lineBytes);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The registers: four tiles of sums, two of rows and two of columns.
struct TileConfiguration {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t bytesOfLines[16] = {lineBytes, lineBytes, lineBytes, lineBytes, lineBytes, lineBytes, lineBytes, lineBytes};
  uint8_t lines[16] = {tileLines, tileLines, tileLines, tileLines, tileLines, tileLines, tileLines, tileLines};
};

/// Both tiles of 16 rows, or columns, of each plane of an operand, the planes `plane` bytes apart.
struct PlaneTiles {
  const std::byte *first, *second;
  int64_t plane;
};

template <int rowTiles> TARGET_AMX_INLINE void loadRows(const PlaneTiles &rows, int plane) {
  _tile_loadd(4, rows.first + plane * rows.plane, lineBytes);
  if constexpr (rowTiles == 2)
    _tile_loadd(5, rows.second + plane * rows.plane, lineBytes);
}

template <int columnTiles> TARGET_AMX_INLINE void loadColumns(const PlaneTiles &columns, int plane) {
  _tile_loadd(6, columns.first + plane * columns.plane, lineBytes);
  if constexpr (columnTiles == 2)
    _tile_loadd(7, columns.second + plane * columns.plane, lineBytes);
}

template <int rowTiles, int columnTiles> TARGET_AMX_INLINE void multiplyTiles() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (columnTiles == 2)
    _tile_dpbf16ps(1, 4, 7);
  if constexpr (rowTiles == 2)
    _tile_dpbf16ps(2, 5, 6);
  if constexpr (rowTiles == 2 && columnTiles == 2)
    _tile_dpbf16ps(3, 5, 7);
}

/// Adds the products over 32 positions of k to the sums in registers.
template <int rowTiles, int columnTiles>
TARGET_AMX_INLINE void multiplyStep(const PlaneTiles &rows, const PlaneTiles &columns) {
  // The smallest products first; each pair has a plane of the one before.
  loadRows<rowTiles>(rows, 2);
  loadColumns<columnTiles>(columns, 0);
  multiplyTiles<rowTiles, columnTiles>();
  loadRows<rowTiles>(rows, 1);
  multiplyTiles<rowTiles, columnTiles>();
  loadColumns<columnTiles>(columns, 1);
  multiplyTiles<rowTiles, columnTiles>();
  loadRows<rowTiles>(rows, 0);
  loadColumns<columnTiles>(columns, 2);
  multiplyTiles<rowTiles, columnTiles>();
  loadColumns<columnTiles>(columns, 1);
  multiplyTiles<rowTiles, columnTiles>();
  loadColumns<columnTiles>(columns, 0);
  multiplyTiles<rowTiles, columnTiles>();
}

/// Begins with the sums of 32 x 32 elements at `from`, or with zeros.
template <int rowTiles, int columnTiles> TARGET_AMX_INLINE void loadSums(const float *from) {
  if (!from) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  _tile_loadd(0, from, sumBytes);
  if constexpr (columnTiles == 2)
    _tile_loadd(1, from + tileLines, sumBytes);
  if constexpr (rowTiles == 2)
    _tile_loadd(2, from + lowerSums, sumBytes);
  if constexpr (rowTiles == 2 && columnTiles == 2)
    _tile_loadd(3, from + lowerSums + tileLines, sumBytes);
}

template <int rowTiles, int columnTiles> TARGET_AMX_INLINE void storeSums(float *to) {
  _tile_stored(0, to, sumBytes);
  if constexpr (columnTiles == 2)
    _tile_stored(1, to + tileLines, sumBytes);
  if constexpr (rowTiles == 2)
    _tile_stored(2, to + lowerSums, sumBytes);
  if constexpr (rowTiles == 2 && columnTiles == 2)
    _tile_stored(3, to + lowerSums + tileLines, sumBytes);
}

/// Copies m x n of the sums of a micro-kernel. True if all are finite.
TARGET_AMX inline bool copySums(const float *sums, int64_t m, int64_t n, float *out, int64_t stride) {
  const __m512i exponent = _mm512_set1_epi32(0x7f800000);
  uint16_t first = maskOf(std::min(n, tileLines)), second = maskOf(std::max<int64_t>(n - tileLines, 0)), found = 0;
  for (int64_t i = 0; i != m; ++i, sums += sliverLines, out += stride) {
    auto copy = [&](uint16_t mask, int64_t at) TARGET_AMX {
      __m512i bits = _mm512_load_si512(sums + at);
      _mm512_mask_storeu_epi32(out + at, mask, bits);
      found |= _mm512_mask_cmpeq_epi32_mask(mask, _mm512_and_si512(bits, exponent), exponent);
    };
    copy(first, 0);
    copy(second, tileLines);
  }
  return found == 0;
}

} // namespace meshwright::runtime

#endif

#endif
