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
// Tiles are made of squares of 16 lines of 16 floats, which are transposed where memory has the other direction.
//
// NaN, infinities and floats that round to one make NaN or an infinity of every sum that has them. Such sums are taken
// again by the loops for vectors.
//
//===----------------------------------------------------------------------===//

#include "AmxMatmul.h"
#include "AmxPlanes.h"
#include "BlockedMatmul.h"
#include "DividedProduct.h"
#include <cmath>

#if defined(__x86_64__) && defined(__linux__)
#include <oneapi/dnnl/dnnl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace meshwright;
using namespace meshwright::runtime;

#if defined(__x86_64__) && defined(__linux__)

/// Positions of k in a block: a sliver takes half of a first-level cache.
static constexpr int64_t blockDepth = 96;
/// Rows or columns of a block.
static constexpr int64_t mostLines = 512;
/// A block of rows or columns is packed with all of k if it has at most so many bytes: a quarter of a second-level
/// cache.
static constexpr int64_t keptBytes = 512 << 10;

namespace {

//===----------------------------------------------------------------------===//
// The micro-kernel
//===----------------------------------------------------------------------===//

/// Adds the product of two slivers over `steps` times 32 positions of k to the sums of 32 x 32 elements at `before`, or
/// to zeros, and writes them to `after`.
template <int rowTiles, int columnTiles>
TARGET_AMX void multiplySlivers(const std::byte *rows, const std::byte *columns, int64_t steps, const float *before,
                                float *after) {
  loadSums<rowTiles, columnTiles>(before);
  for (int64_t step = 0; step != steps; ++step, rows += stepBytes, columns += stepBytes)
    multiplyStep<rowTiles, columnTiles>({rows, rows + tileBytes, planeBytes},
                                        {columns, columns + tileBytes, planeBytes});
  storeSums<rowTiles, columnTiles>(after);
}

//===----------------------------------------------------------------------===//
// The loops around the micro-kernel
//===----------------------------------------------------------------------===//

/// Fetches lines of floats into a cache, for reading (0) or writing (1): into all (3), or not into the first one (2).
template <int forWriting, int locality>
inline void fetchLines(const float *from, int64_t numLines, int64_t length, int64_t stride) {
  for (int64_t i = 0; i != numLines; ++i, from += stride) {
    for (int64_t at = 0; at < length; at += tileLines)
      __builtin_prefetch(from + at, forWriting, locality);
    __builtin_prefetch(from + length - 1, forWriting, locality);
  }
}

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
    isLastBlock = firstTerm + numTerms == k;
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

  /// Fetches the rows after the sliver at `line`, which are packed next, into the second-level cache: one part of so
  /// many.
  void fetchNext(int64_t line, int64_t part, int64_t parts) const {
    // With fewer parts the instructions take longer than rows that are in the cache already.
    constexpr int64_t fewParts = 4;
    if (keeps || !isLeft || parts < fewParts)
      return;
    const float *next = source + (line + sliverLines) * stride;
    int64_t lines = std::min(count - line - sliverLines, sliverLines);
    if (lines <= 0) {
      // The first ones, of the next block of k.
      next = source + depth * kStride;
      lines = isLastBlock ? 0 : std::min(count, sliverLines);
    }
    bool isTransposed = kStride != 1;
    int64_t size = isTransposed ? depth : lines, length = isTransposed ? lines : depth,
            distance = isTransposed ? kStride : stride, first = size * part / parts;
    fetchLines<0, 2>(next + first * distance, size * (part + 1) / parts - first, length, distance);
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
  /// The block that was begun, whether it has the last terms, and its first sliver, if that is packed.
  const float *source = nullptr;
  bool isLastBlock = false;
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
          float *to = out + (m0 + i) * p.outRow + n0 + j;
          left.fetchNext(i, j / sliverLines, (n - 1) / sliverLines + 1);
          if (isLast)
            fetchLines<1, 3>(to, height, width, p.outRow);
          auto multiply = height <= tileLines ? (width <= tileLines ? multiplySlivers<1, 1> : multiplySlivers<1, 2>)
                                              : (width <= tileLines ? multiplySlivers<2, 1> : multiplySlivers<2, 2>);
          multiply(rows, right.getSliver(j), steps, k0 == 0 ? nullptr : square, isLast ? last : square);
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
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("amx-bf16") &&
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
