//===- AmxMatmul.cpp - f32 products of bf16 tiles -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of AMX multiply bf16 at 16 times the rate at which vectors multiply f32. A float is the exact sum
// of three numbers of bf16, its planes: the float rounded, what that lacks rounded, and the rest. Six products of
// planes make a product in f32; the other three are below 2^-26 of it.
//
//   a = a0 + a1 + a2     a b = a2 b0 + a1 b0 + a1 b1 + a0 b2 + a0 b1 + a0 b0
//
// Operands are packed into planes by blocks of rows, columns and k that the second-level cache holds:
//
//            n -> block                       packed by slivers of 32 columns
//         +--------+--------+
//      k  | rhs    |        |                 micro-kernel: 32 x 32 of out, four tiles,
//         +--------+--------+                 += sum over a block of k
//    m +--+--------+
//      |lh| out    |                          a sliver of rows stays in the first-level cache
//      +--+--------+
//
// A tile has 16 lines of 32 numbers, in pairs whose second number is 16 positions of k after the first. A line of the
// left operand is a row, with 16 pairs; one of the right operand is a pair, of 16 columns. So both are made of squares
// of 16 lines of 16 floats, which are transposed where memory has the other direction.
//
// NaN, infinities and floats that round to one make NaN or an infinity of every sum that has them. Such sums are taken
// again by the loops for vectors.
//
//===----------------------------------------------------------------------===//

#include "AmxMatmul.h"
#include "BlockedMatmul.h"
#include "DividedProduct.h"
#include <cmath>

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace meshwright;
using namespace meshwright::runtime;

#if defined(__x86_64__) && defined(__linux__)

#define TARGET_AMX __attribute__((target("avx512f,amx-tile,amx-bf16")))
#define TARGET_AMX_INLINE __attribute__((target("avx512f,amx-tile,amx-bf16"), always_inline)) inline

/// Lines of a tile, bytes of each, and pairs of numbers in it.
static constexpr int64_t tileLines = 16, lineBytes = 64, tileBytes = tileLines * lineBytes, tileDepth = 32;
static constexpr int64_t numPlanes = 3;
/// A sliver has two tiles of rows or columns. For each 32 positions of k it has those of the first plane, of the
/// second, and of the third.
static constexpr int64_t sliverLines = 2 * tileLines, planeBytes = 2 * tileBytes, stepBytes = numPlanes * planeBytes;
/// Elements of a result that the micro-kernel computes at once.
static constexpr int64_t squareSize = sliverLines * sliverLines;
/// Positions of k in a block: a sliver takes half of a first-level cache.
static constexpr int64_t blockDepth = 96;
/// Rows or columns of a block.
static constexpr int64_t mostLines = 512;
/// A block of rows or columns is packed with all of k if it has at most so many bytes: a quarter of a second-level
/// cache.
static constexpr int64_t keptBytes = 512 << 10;

namespace {

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

/// Writes the planes of pairs of floats, each a line of its own.
TARGET_AMX_INLINE void writePlanes(__m512 first, __m512 second, std::byte *to) {
  // Rounds to the nearest number of bf16, and away from zero if there are two: the lower half does not count.
  const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  auto round = [&](__m512 value) TARGET_AMX { return _mm512_add_epi32(_mm512_castps_si512(value), half); };
  // The upper halves of two vectors, side by side in each lane.
  auto join = [&](__m512i low, __m512i high) TARGET_AMX {
    constexpr int selectHigh = 0xf8; // a | (b & c)
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(low, 16), high, upper, selectHigh);
  };
  auto dropLower = [&](__m512i bits) TARGET_AMX { return _mm512_castsi512_ps(_mm512_and_si512(bits, upper)); };
  for (int plane = 0; plane != numPlanes - 1; ++plane) {
    __m512i low = round(first), high = round(second);
    _mm512_store_si512(to + plane * planeBytes, join(low, high));
    first = _mm512_sub_ps(first, dropLower(low));
    second = _mm512_sub_ps(second, dropLower(high));
  }
  // The rest has eight digits. It is not rounded, so that a NaN stays one.
  _mm512_store_si512(to + (numPlanes - 1) * planeBytes, join(_mm512_castps_si512(first), _mm512_castps_si512(second)));
}

/// Packs up to 16 rows, or columns, and 32 positions of k into a tile of each plane; zeros are beyond `count` and `k`.
template <bool isLeft>
TARGET_AMX void packTile(const float *from, int64_t count, int64_t k, int64_t stride, int64_t kStride, std::byte *to) {
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
// The micro-kernel
//===----------------------------------------------------------------------===//

/// The registers: four tiles of sums, two of rows and two of columns.
struct TileConfiguration {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t bytesOfLines[16] = {lineBytes, lineBytes, lineBytes, lineBytes, lineBytes, lineBytes, lineBytes, lineBytes};
  uint8_t lines[16] = {tileLines, tileLines, tileLines, tileLines, tileLines, tileLines, tileLines, tileLines};
};

template <int rowTiles> TARGET_AMX_INLINE void loadRows(const std::byte *from) {
  _tile_loadd(4, from, lineBytes);
  if constexpr (rowTiles == 2)
    _tile_loadd(5, from + tileBytes, lineBytes);
}

template <int columnTiles> TARGET_AMX_INLINE void loadColumns(const std::byte *from) {
  _tile_loadd(6, from, lineBytes);
  if constexpr (columnTiles == 2)
    _tile_loadd(7, from + tileBytes, lineBytes);
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

/// Adds the product of two slivers over `steps` times 32 positions of k to the sums of 32 x 32 elements at `before`, or
/// to zeros, and writes them to `after`.
template <int rowTiles, int columnTiles>
TARGET_AMX void multiplySlivers(const std::byte *rows, const std::byte *columns, int64_t steps, const float *before,
                                float *after) {
  constexpr int64_t bytes = sliverLines * sizeof(float), lower = tileLines * sliverLines;
  if (before) {
    _tile_loadd(0, before, bytes);
    if constexpr (columnTiles == 2)
      _tile_loadd(1, before + tileLines, bytes);
    if constexpr (rowTiles == 2)
      _tile_loadd(2, before + lower, bytes);
    if constexpr (rowTiles == 2 && columnTiles == 2)
      _tile_loadd(3, before + lower + tileLines, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t step = 0; step != steps; ++step, rows += stepBytes, columns += stepBytes) {
    // The smallest products first; each pair has a plane of the one before.
    loadRows<rowTiles>(rows + 2 * planeBytes);
    loadColumns<columnTiles>(columns);
    multiplyTiles<rowTiles, columnTiles>();
    loadRows<rowTiles>(rows + planeBytes);
    multiplyTiles<rowTiles, columnTiles>();
    loadColumns<columnTiles>(columns + planeBytes);
    multiplyTiles<rowTiles, columnTiles>();
    loadRows<rowTiles>(rows);
    loadColumns<columnTiles>(columns + 2 * planeBytes);
    multiplyTiles<rowTiles, columnTiles>();
    loadColumns<columnTiles>(columns + planeBytes);
    multiplyTiles<rowTiles, columnTiles>();
    loadColumns<columnTiles>(columns);
    multiplyTiles<rowTiles, columnTiles>();
  }
  _tile_stored(0, after, bytes);
  if constexpr (columnTiles == 2)
    _tile_stored(1, after + tileLines, bytes);
  if constexpr (rowTiles == 2)
    _tile_stored(2, after + lower, bytes);
  if constexpr (rowTiles == 2 && columnTiles == 2)
    _tile_stored(3, after + lower + tileLines, bytes);
}

/// Copies m x n of the sums of a micro-kernel. True if all are finite.
TARGET_AMX bool copySums(const float *sums, int64_t m, int64_t n, float *out, int64_t stride) {
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

//===----------------------------------------------------------------------===//
// The loops around the micro-kernel
//===----------------------------------------------------------------------===//

/// The most rows or columns of a block, of so many.
constexpr int64_t getMostLines(int64_t size) { return std::min(roundUp(size, sliverLines), mostLines); }

constexpr int64_t countSteps(int64_t depth) { return (depth - 1) / tileDepth + 1; }

/// Bytes of so many packed rows or columns, a multiple of slivers.
constexpr int64_t getPackedBytes(int64_t lines, int64_t depth) {
  return lines / sliverLines * countSteps(depth) * stepBytes;
}

/// The blocks of an operand's rows or columns, of which a part is packed at a time.
class PackedOperand {
public:
  /// Enough scratch memory for an operand of up to `size` rows or columns; the other one has up to `otherSize`.
  static constexpr int64_t getScratchBytes(bool isLeft, int64_t size, int64_t otherSize, int64_t k) {
    int64_t lines = getMostLines(size), part = getPackedBytes(isLeft ? sliverLines : lines, std::min(k, blockDepth));
    return countBlocks(otherSize) == 1 ? part : std::min(getPackedBytes(lines, k), std::max(part, keptBytes));
  }

  /// Element p of row or column i is at matrix[i * stride + p * kStride].
  PackedOperand(bool isLeft, int64_t size, int64_t otherSize, int64_t k, const std::byte *matrix, int64_t stride,
                int64_t kStride, std::byte *scratch)
      : isLeft(isLeft), k(k), numBlocks(countBlocks(size)), block(roundUp((size - 1) / numBlocks + 1, sliverLines)),
        from(reinterpret_cast<const float *>(matrix)), stride(stride), kStride(kStride), packed(scratch) {
    bool isReused = countBlocks(otherSize) != 1;
    keeps = isReused && getPackedBytes(block, k) <= keptBytes;
  }

  /// How many rows or columns a block has; the last one may have fewer.
  int64_t getBlock() const { return block; }
  int64_t getNumBlocks() const { return numBlocks; }
  /// True if a block is packed with all of k, for all blocks of the other operand.
  bool keepsBlocks() const { return keeps; }

  /// Keeps all blocks in `memory`, where they are packed already or stay for later products.
  void keepAll(const PackedRight &memory) {
    packed = memory.at;
    isPacked = memory.isPacked;
    keeps = keepsAll = true;
  }

  /// Begins with `numLines` rows or columns from the first of a block on, and `numTerms` positions of k.
  void begin(int64_t firstLine, int64_t numLines, int64_t firstTerm, int64_t numTerms) {
    source = from + firstLine * stride + firstTerm * kStride;
    count = numLines;
    depth = numTerms;
    sliverBytes = countSteps(keeps ? k : depth) * stepBytes;
    std::byte *to = packed + (keepsAll ? firstLine / sliverLines * sliverBytes : 0);
    if (keeps && held != firstLine && !isPacked)
      pack(from + firstLine * stride, count, k, to);
    else if (!keeps && !isLeft)
      pack(source, count, depth, to);
    held = firstLine;
    first = to + (keeps ? firstTerm / tileDepth * stepBytes : 0);
  }

  /// The sliver that begins at a row or column of the block. Rows that are not kept are packed now, and stay in the
  /// first-level cache.
  const std::byte *getSliver(int64_t line) {
    if (keeps || !isLeft)
      return first + line / sliverLines * sliverBytes;
    pack(source + line * stride, std::min(count - line, sliverLines), depth, packed);
    return packed;
  }

private:
  static constexpr int64_t countBlocks(int64_t size) { return (size - 1) / mostLines + 1; }

  void pack(const float *matrix, int64_t numLines, int64_t numTerms, std::byte *to) {
    int64_t slivers = (numLines - 1) / sliverLines + 1, steps = countSteps(numTerms);
    // Along the lines of memory.
    if (kStride == 1)
      for (int64_t sliver = 0; sliver != slivers; ++sliver)
        for (int64_t step = 0; step != steps; ++step)
          packStep(matrix, numLines, numTerms, sliver, step, to + (sliver * steps + step) * stepBytes);
    else
      for (int64_t step = 0; step != steps; ++step)
        for (int64_t sliver = 0; sliver != slivers; ++sliver)
          packStep(matrix, numLines, numTerms, sliver, step, to + (sliver * steps + step) * stepBytes);
  }

  void packStep(const float *matrix, int64_t numLines, int64_t numTerms, int64_t sliver, int64_t step, std::byte *to) {
    int64_t left = std::min(numLines - sliver * sliverLines, sliverLines), k0 = step * tileDepth;
    matrix += sliver * sliverLines * stride + k0 * kStride;
    for (int64_t line = 0; line < left; line += tileLines, to += tileBytes)
      (isLeft ? packTile<true> : packTile<false>)(matrix + line * stride, std::min(left - line, tileLines),
                                                  std::min(numTerms - k0, tileDepth), stride, kStride, to);
  }

  bool isLeft;
  int64_t k, numBlocks, block;
  bool keeps;
  const float *from;
  int64_t stride, kStride;
  std::byte *packed;
  /// Whether all blocks are kept, and whether another product has packed them.
  bool keepsAll = false, isPacked = false;
  /// The first row or column of the block that is packed with all of k.
  int64_t held = -1;
  /// The block that was begun, and its first sliver, if that is packed.
  const float *source = nullptr;
  int64_t count = 0, depth = 0, sliverBytes = 0;
  const std::byte *first = nullptr;
};

/// Some rows and columns of a product, on one thread.
class AmxProduct {
public:
  static int64_t getGrain(bool) { return sliverLines; }
  static size_t getScratchBytes(const MatmulProblem &p) {
    return getScratchBytes(p, true) + getScratchBytes(p, false) + getSumBytes(p) +
           getBlockedMatmulScratch(getSquare(p, sliverLines, sliverLines), 1);
  }

  /// `problem` may become smaller between runs.
  AmxProduct(const MatmulProblem &problem, std::byte *scratch)
      : p(problem), leftScratch(scratch), rightScratch(leftScratch + getScratchBytes(p, true)),
        sums(reinterpret_cast<float *>(rightScratch + getScratchBytes(p, false))),
        rest(reinterpret_cast<std::byte *>(sums) + getSumBytes(p)) {}

  /// Bytes of a right operand that is packed as a whole.
  static int64_t getRightBytes(const MatmulProblem &p) { return getPackedBytes(roundUp(p.n, sliverLines), p.k); }
  /// Reads or leaves the right operand of the next run there.
  void keepRight(const PackedRight &memory) { kept = memory; }

  TARGET_AMX void run(const std::byte *lhsMatrix, const std::byte *rhsMatrix, std::byte *result) {
    static constexpr TileConfiguration configuration;
    lhs = lhsMatrix;
    rhs = rhsMatrix;
    out = reinterpret_cast<float *>(result);
    PackedOperand left(true, p.m, p.n, p.k, lhs, p.lhsRow, p.lhsColumn, leftScratch),
        right(false, p.n, p.m, p.k, rhs, p.rhsColumn, p.rhsRow, rightScratch);
    if (kept.at)
      right.keepAll(kept);
    _tile_loadconfig(&configuration);
    // The operand of the outer loop is packed once if blocks are kept; the other one for each of its blocks, unless it
    // has one that is kept.
    auto countPacked = [](const PackedOperand &outer, int64_t size, const PackedOperand &inner, int64_t innerSize) {
      bool isOnce = inner.keepsBlocks() && inner.getNumBlocks() == 1;
      return size * (outer.keepsBlocks() ? 1 : inner.getNumBlocks()) + innerSize * (isOnce ? 1 : outer.getNumBlocks());
    };
    if (countPacked(left, p.m, right, p.n) <= countPacked(right, p.n, left, p.m))
      for (int64_t m0 = 0; m0 < p.m; m0 += left.getBlock())
        for (int64_t n0 = 0; n0 < p.n; n0 += right.getBlock())
          runBlock(left, right, m0, n0);
    else
      for (int64_t n0 = 0; n0 < p.n; n0 += right.getBlock())
        for (int64_t m0 = 0; m0 < p.m; m0 += left.getBlock())
          runBlock(left, right, m0, n0);
    _tile_release();
  }

private:
  static size_t getScratchBytes(const MatmulProblem &p, bool isLeft) {
    return PackedOperand::getScratchBytes(isLeft, isLeft ? p.m : p.n, isLeft ? p.n : p.m, p.k);
  }

  /// Bytes of the sums of a block, if they are not taken at once.
  static size_t getSumBytes(const MatmulProblem &p) {
    return p.k <= blockDepth ? 0 : getMostLines(p.m) * getMostLines(p.n) * sizeof(float);
  }

  /// The product of some rows and columns, for the loops for vectors.
  static MatmulProblem getSquare(const MatmulProblem &p, int64_t m, int64_t n) {
    MatmulProblem square = p;
    square.batch.clear();
    square.m = m;
    square.n = n;
    square.outRow = sliverLines;
    return square;
  }

  void runBlock(PackedOperand &left, PackedOperand &right, int64_t m0, int64_t n0) {
    int64_t m = std::min(left.getBlock(), p.m - m0), n = std::min(right.getBlock(), p.n - n0);
    alignas(64) float last[squareSize];
    for (int64_t k0 = 0; k0 < p.k; k0 += blockDepth) {
      int64_t depth = std::min(blockDepth, p.k - k0), steps = countSteps(depth);
      bool isLast = k0 + depth == p.k;
      left.begin(m0, m, k0, depth);
      right.begin(n0, n, k0, depth);
      float *square = sums;
      for (int64_t i = 0; i < m; i += sliverLines) {
        const std::byte *rows = left.getSliver(i);
        for (int64_t j = 0; j < n; j += sliverLines, square += squareSize) {
          int64_t height = std::min(sliverLines, m - i), width = std::min(sliverLines, n - j);
          auto multiply = height <= tileLines ? (width <= tileLines ? multiplySlivers<1, 1> : multiplySlivers<1, 2>)
                                              : (width <= tileLines ? multiplySlivers<2, 1> : multiplySlivers<2, 2>);
          multiply(rows, right.getSliver(j), steps, k0 == 0 ? nullptr : square, isLast ? last : square);
          float *to = out + (m0 + i) * p.outRow + n0 + j;
          if (isLast && !copySums(last, height, width, to, p.outRow))
            repair(m0 + i, n0 + j, height, width, to);
        }
      }
    }
  }

  /// Takes the sums again that are NaN or infinite.
  [[gnu::noinline]] void repair(int64_t row, int64_t column, int64_t m, int64_t n, float *to) {
    alignas(64) float own[squareSize];
    runBlockedMatmul(getSquare(p, m, n), lhs + row * p.lhsRow * sizeof(float),
                     rhs + column * p.rhsColumn * sizeof(float), reinterpret_cast<std::byte *>(own), rest, 1);
    for (int64_t i = 0; i != m; ++i)
      for (int64_t j = 0; j != n; ++j)
        if (float &sum = to[i * p.outRow + j]; !std::isfinite(sum))
          sum = own[i * sliverLines + j];
  }

  const MatmulProblem &p;
  std::byte *leftScratch, *rightScratch;
  float *sums;
  std::byte *rest;
  PackedRight kept;
  const std::byte *lhs = nullptr, *rhs = nullptr;
  float *out = nullptr;
};

} // namespace

bool meshwright::runtime::hasAmx() {
  static const bool isPermitted = [] {
    constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("amx-bf16") &&
           syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  }();
  return isPermitted;
}

size_t meshwright::runtime::getAmxMatmulScratch(const MatmulProblem &problem, int threads) {
  return DividedProduct<AmxProduct>(problem, threads).getScratchBytes();
}

size_t meshwright::runtime::getAmxRightBytes(const MatmulProblem &problem, int threads) {
  DividedProduct<AmxProduct> product(problem, threads);
  // Several blocks of rows read what one has packed. Pieces of rows would wait for it.
  if (problem.m > mostLines || product.hasPiecesOfRows())
    return 0;
  return product.getNumPieces() * AmxProduct::getRightBytes(product.getLargestPiece());
}

void meshwright::runtime::runAmxMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs,
                                       std::byte *out, std::byte *scratch, int threads, const PackedRight &right) {
  DividedProduct<AmxProduct> product(problem, threads);
  int64_t ofPiece = right.at ? AmxProduct::getRightBytes(product.getLargestPiece()) : 0;
  product.run(lhs, rhs, out, scratch, [&](AmxProduct &part, int64_t piece) {
    if (right.at)
      part.keepRight({right.at + piece * ofPiece, right.isPacked});
  });
}

#else

bool meshwright::runtime::hasAmx() { return false; }
size_t meshwright::runtime::getAmxMatmulScratch(const MatmulProblem &, int) { return 0; }
size_t meshwright::runtime::getAmxRightBytes(const MatmulProblem &, int) { return 0; }
void meshwright::runtime::runAmxMatmul(const MatmulProblem &, const std::byte *, const std::byte *, std::byte *,
                                       std::byte *, int, const PackedRight &) {}

#endif

bool meshwright::runtime::isForAmx(const MatmulProblem &p) {
  if (p.lhsType != F32 || p.rhsType != F32 || p.outType != F32 || p.parts != 0 || p.rounded != DTYPE_INVALID)
    return false;
  bool hasLines = (p.lhsRow == 1 || p.lhsColumn == 1) && (p.rhsRow == 1 || p.rhsColumn == 1) && p.outColumn == 1;
  if (!hasLines)
    return false;
  // Packing an element costs as much as 28 multiplications and additions gain.
  return p.k >= 32 && p.m * p.n >= 28 * (p.m + p.n);
}
