//===- BlockedMatmul.cpp - products without a library ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The usual three levels of blocking, for all types that oneDNN has no fast code for, and without AVX-512 for f32.
// Panels of the right operand (blockK x blockN, third-level cache) and of the left one (blockM x blockK, second-level
// cache) are packed into the type of the sums, whatever their types and strides were; a micro-kernel multiplies a
// sliver of rows with a sliver of columns in registers. What is used seldom is not packed, or by the micro-kernel as it
// reads it.
//
//            n -> blockN                      packed by columns of `columns`
//         +--------+--------+
//      k  | rhs    |        |                 micro-kernel: rows x columns of out
//         +--------+--------+                 += sum over the block of k
//    m +--+--------+
//      |lh| out    |
//      +--+--------+
//
// The sum over k runs in the same order for every element, whatever the vector width and the threads, which take parts
// of the batch, the rows or the columns. Where it is taken in parts, the panel of the right operand has all of k, with
// zeros to the end of the last part. If parts are short, so have the rows, and a sliver of columns adds its parts while
// these are in the first-level cache; else a block of rows does so in the second-level cache. Very long parts are
// products by themselves, in whose time the additions do not count.
//
//===----------------------------------------------------------------------===//

#include "BlockedMatmul.h"
#include "DividedProduct.h"
#include "MatmulBatch.h"
#include "MicroKernel.h"
#include "ResidueMatmul.h"
#include "Threads.h"
#include "TwinMatmul.h"
#include <algorithm>
#include <bit>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr int64_t blockM = 96, blockK = 256, blockN = 1536;
/// Rows of a block that adds its parts by itself, and columns of a panel that spans all of k.
static constexpr int64_t blockMOfParts = 48, mostColumns = 768;
/// Parts at least so long are made one after the other, in blocks of so many rows.
static constexpr int64_t fewestOfVeryLong = 1024, blockMOfVeryLong = 384;
/// Elements of the rows of a block that spans all of k: half of a second-level cache.
static constexpr int64_t rowElements = 1 << 16;
/// Up to so many rows of the left operand are read where they lie.
static constexpr int64_t fewRows = 32;
/// The micro-kernel packs lines of the right operand of up to this length; whole lines are what memory is faster at.
static constexpr int64_t shortLine = 128;

namespace {

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

template <typename A, typename T> A widen(T value) {
  if constexpr (isNarrowFloat<T>)
    return static_cast<A>(static_cast<float>(value));
  else
    return static_cast<A>(value);
}

template <typename T, typename A> T narrow(A value) {
  if constexpr (isNarrowFloat<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// Transposes 4 x 4 elements, whose rows are `stride` apart, into rows that are `width` apart.
inline void transpose(const float *from, int64_t stride, float *to, int64_t width) {
  typedef float Vector __attribute__((vector_size(16), aligned(alignof(float))));
  auto row = [&](int64_t i) { return *reinterpret_cast<const Vector *>(from + i * stride); };
  auto put = [&](int64_t i, Vector value) { *reinterpret_cast<Vector *>(to + i * width) = value; };
  Vector low02 = __builtin_shufflevector(row(0), row(2), 0, 4, 1, 5),
         high02 = __builtin_shufflevector(row(0), row(2), 2, 6, 3, 7);
  Vector low13 = __builtin_shufflevector(row(1), row(3), 0, 4, 1, 5),
         high13 = __builtin_shufflevector(row(1), row(3), 2, 6, 3, 7);
  put(0, __builtin_shufflevector(low02, low13, 0, 4, 1, 5));
  put(1, __builtin_shufflevector(low02, low13, 2, 6, 3, 7));
  put(2, __builtin_shufflevector(high02, high13, 0, 4, 1, 5));
  put(3, __builtin_shufflevector(high02, high13, 2, 6, 3, 7));
}

/// Packs `count` slivers of `width` x k elements, each with room for `depth`, from lines that have them side by side.
/// A few lines at a time, of which the next are fetched: what lines have of the next sliver stays in the first-level
/// cache.
template <typename A, typename T, int width>
void packLines(const T *__restrict from, int64_t count, int64_t k, int64_t depth, int64_t kStride, A *__restrict to) {
  constexpr int64_t lines = 8;
  for (int64_t begin = 0; begin < k; begin += lines)
    for (int64_t sliver = 0, end = std::min(k, begin + lines); sliver != count; ++sliver)
      for (int64_t p = begin; p != end; ++p) {
        __builtin_prefetch(from + (p + lines) * kStride + sliver * width);
#pragma clang loop unroll(full)
        for (int i = 0; i != width; ++i)
          to[(sliver * depth + p) * width + i] = widen<A>(from[p * kStride + sliver * width + i]);
      }
}

/// Packs a sliver of `width` x k elements, k slowest.
template <typename A, typename T, int width>
void packSliver(const T *from, int64_t k, int64_t stride, int64_t kStride, A *to) {
  int64_t begin = 0;
  if constexpr (std::is_same_v<A, float> && std::is_same_v<T, float>)
    for (; kStride == 1 && begin + 4 <= k; begin += 4) {
      // The same place of the next sliver, once for each line of the cache.
      if (begin % 16 == 0)
        for (int i = 0; i != width; ++i)
          __builtin_prefetch(from + (i + width) * stride + begin);
      for (int i = 0; i + 4 <= width; i += 4)
        transpose(from + i * stride + begin, stride, to + begin * width + i, width);
      for (int i = width / 4 * 4; i != width; ++i)
        for (int64_t p = begin; p != begin + 4; ++p)
          to[p * width + i] = from[i * stride + p];
    }
  // Lines of the source are read from end to end, 16 positions of k at a time so that the target stays in the cache.
  for (; begin < k; begin += 16)
    for (int i = 0; i != width; ++i)
      for (int64_t p = begin, end = std::min(k, begin + 16); p != end; ++p)
        to[p * width + i] = widen<A>(from[i * stride + p * kStride]);
}

/// Packs `size` x k elements into slivers of `width`, k slowest within a sliver, each with room for `depth` >= k; what
/// is beyond `size` and k is zero.
template <typename A, typename T, int width>
void packSlivers(const std::byte *source, int64_t size, int64_t k, int64_t depth, int64_t stride, int64_t kStride,
                 A *to) {
  const T *from = reinterpret_cast<const T *>(source);
  int64_t whole = size / width * width;
  if (stride == 1)
    packLines<A, T, width>(from, whole / width, k, depth, kStride, to);
  for (int64_t begin = 0; begin != whole; begin += width, to += width * depth) {
    if (stride != 1)
      packSliver<A, T, width>(from + begin * stride, k, stride, kStride, to);
    std::fill(to + width * k, to + width * depth, A(0));
  }
  if (whole == size)
    return;
  std::fill(to, to + width * depth, A(0));
  for (int64_t i = whole; i != size; ++i)
    for (int64_t p = 0; p != k; ++p)
      to[p * width + i - whole] = widen<A>(from[i * stride + p * kStride]);
}

template <typename A>
using PackFn = void (*)(const std::byte *source, int64_t size, int64_t k, int64_t depth, int64_t stride,
                        int64_t kStride, A *to);

/// The function that packs T into slivers of `width`: the rows of a micro-kernel of A, or its columns in two vectors of
/// 16 or 32 bytes or three of 64.
template <typename A, typename T> PackFn<A> selectPack(int64_t width) {
  constexpr int lanes = 16 / sizeof(A);
  if (width == 6)
    return packSlivers<A, T, 6>;
  if (width == 8)
    return packSlivers<A, T, 8>;
  if (width == 2 * lanes)
    return packSlivers<A, T, 2 * lanes>;
  if (width == 4 * lanes)
    return packSlivers<A, T, 4 * lanes>;
  return packSlivers<A, T, 12 * lanes>;
}

/// Writes m x n sums.
template <typename A, typename T>
void store(const A *sums, int64_t m, int64_t n, std::byte *target, int64_t row, int64_t column) {
  T *out = reinterpret_cast<T *>(target);
  for (int64_t i = 0; i != m; ++i)
    for (int64_t j = 0; j != n; ++j)
      out[i * row + j * column] = narrow<T>(sums[i * n + j]);
}

/// Rounds sums to T.
template <typename A, typename T> void roundSums(A *sums, int64_t size) {
  for (int64_t i = 0; i != size; ++i)
    sums[i] = widen<A>(narrow<T>(sums[i]));
}

template <typename T> constexpr bool isFloatType = !std::is_integral_v<T>;

/// True if an operand need not be packed: it has the type of the sums, f32, for which there are micro-kernels.
template <typename A> bool isReadable(DType type) { return std::is_same_v<A, float> && type == F32; }

template <typename A> PackFn<A> getPack(DType type, int64_t width) {
  return dispatch(type, [width](auto zero) -> PackFn<A> {
    if constexpr (isFloatType<A> == isFloatType<decltype(zero)>)
      return selectPack<A, decltype(zero)>(width);
    else
      return nullptr;
  });
}

/// The function that writes sums as `type`, whose columns are `column` elements apart.
template <typename A> auto getStore(DType type, int64_t column) {
  if constexpr (std::is_same_v<A, float>)
    if (type == BF16 && column == 1)
      return selectBFloat16Loops().store;
  return dispatch(type, [](auto zero) -> decltype(&store<A, A>) {
    if constexpr (isFloatType<A> == isFloatType<decltype(zero)>)
      return store<A, decltype(zero)>;
    else
      return nullptr;
  });
}

/// How the parts of a sum are rounded to the type of the result: null where that is no 16-bit type.
template <typename A> struct Rounding {
  void (*round)(A *sums, int64_t size) = nullptr;
  /// Adds rounded sums to rounded ones and rounds these; null where that takes two steps.
  void (*add)(A *sums, const A *others, int64_t size) = nullptr;
};

template <typename A> Rounding<A> getRounding(DType type) {
  if constexpr (std::is_same_v<A, float>) {
    if (type == BF16) {
      BFloat16Loops loops = selectBFloat16Loops();
      return {loops.round, loops.add};
    }
    return dispatch(type, [](auto zero) -> Rounding<A> {
      if constexpr (isNarrowFloat<decltype(zero)>)
        return {roundSums<A, decltype(zero)>};
      else
        return {};
    });
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The loops around the micro-kernel
//===----------------------------------------------------------------------===//

bool hasParts(const MatmulProblem &p) { return p.parts > 1 && p.k > 0; }

/// The length of a part; that of k with what the last part lacks.
int64_t getPartLength(const MatmulProblem &p) { return (p.k - 1) / p.parts + 1; }
int64_t getFilledLength(const MatmulProblem &p) { return hasParts(p) ? getPartLength(p) * p.parts : p.k; }

/// How many columns a panel has that spans all of k: its bytes are bounded, and so are those of the sums of a block.
int64_t getColumnsInParts(const MatmulProblem &p) {
  constexpr int64_t panelElements = 2 << 20, width = 48;
  return std::min(p.n, std::clamp(panelElements / std::max<int64_t>(p.k, 1) / width * width, width, mostColumns));
}

/// True if slivers of columns add their parts.
bool hasShortParts(const MatmulProblem &p) { return hasParts(p) && getPartLength(p) < blockK; }

/// True if a part is a product by itself, whose sums may leave the caches before the next part's.
bool hasVeryLongParts(const MatmulProblem &p) { return hasParts(p) && getPartLength(p) >= fewestOfVeryLong; }

/// How many rows are packed at once.
int64_t getRowsOfBlock(const MatmulProblem &p) {
  int64_t rows = hasShortParts(p) ? std::clamp<int64_t>(rowElements / getFilledLength(p) / 24 * 24, 24, blockM)
                 : hasParts(p)    ? blockMOfParts
                                  : blockM;
  return std::min(p.m, rows);
}

/// True if sums can be taken in the result itself, which has their type.
bool sumsInPlace(const MatmulProblem &p) {
  bool isWide = p.lhsType == F64 || p.rhsType == F64;
  return !hasParts(p) && p.outColumn == 1 && p.k > 0 && (p.outType == F64 || (p.outType == F32 && !isWide));
}

/// The layout of the scratch memory of a thread, in elements of the sums' type; widths of slivers are at most 48.
struct ScratchSizes {
  int64_t left, right, sums;
  explicit ScratchSizes(const MatmulProblem &p) {
    int64_t rows = roundUp(getRowsOfBlock(p), 24);
    auto levels = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(p.parts)));
    if (hasVeryLongParts(p)) {
      left = blockM * blockK;
      right = (std::min(p.n, blockN) + 48) * blockK;
      sums = std::min(p.m, blockMOfVeryLong) * std::min(p.n, blockN) * levels;
    } else if (hasParts(p)) {
      int64_t columns = getColumnsInParts(p);
      left = rows * (hasShortParts(p) ? getFilledLength(p) : blockK);
      right = (columns + 48) * getFilledLength(p);
      sums = rows * (hasShortParts(p) ? 48 : columns) * levels;
    } else {
      int64_t depth = std::min(p.k, blockK);
      left = rows * depth;
      right = (std::min(p.n, blockN) + 48) * depth;
      sums = sumsInPlace(p) ? 0 : p.m * std::min(p.n, blockN);
    }
    left = roundUp(left, 16);
    right = roundUp(right, 16);
    sums = roundUp(sums, 16);
  }
  int64_t getTotal() const { return left + right + sums; }
};

/// The sums of the parts so far, as a stack: the upper two are added whenever they are neighbours in the tree.
template <typename A> class PartStack {
public:
  /// Each sum has `size` elements. If `joins`, a second neighbour is added to the first as it is made, which is the
  /// same addition. Parts are made as `ending` says, and rounded already if it rounds.
  PartStack(A *sums, int64_t size, Rounding<A> rounding, bool joins, Ending ending = {})
      : sums(sums), size(size), rounding(rounding), joins(joins), ending(ending) {}

  /// Where the next part goes, and how.
  std::pair<A *, Ending> begin() const {
    Ending next = ending;
    next.adds = joins && parts % 2 == 1;
    return {sums + (next.adds ? height - 1 : height) * size, next};
  }
  void end() {
    int64_t pairs = ++parts;
    if (joins && pairs % 2 == 0)
      pairs /= 2;
    else
      ++height;
    if (rounding.round && !ending.rounds)
      rounding.round(sums + (height - 1) * size, size);
    for (; pairs % 2 == 0; pairs /= 2) {
      --height;
      add(sums + (height - 1) * size, sums + height * size);
    }
  }

private:
  void add(A *lower, const A *upper) const {
    if (rounding.add)
      return rounding.add(lower, upper, size);
    for (int64_t i = 0; i != size; ++i)
      lower[i] += upper[i];
    if (rounding.round)
      rounding.round(lower, size);
  }

  A *sums;
  int64_t size, height = 0, parts = 0;
  Rounding<A> rounding;
  bool joins;
  Ending ending;
};

/// Some rows and columns of a product, on one thread.
template <typename A> class Product {
public:
  static int64_t getGrain(bool byRows) {
    const MicroKernel<A> &kernel = selectMicroKernel<A>();
    return byRows ? kernel.rows : kernel.columns;
  }
  static size_t getScratchBytes(const MatmulProblem &p) { return ScratchSizes(p).getTotal() * sizeof(A); }

  Product(const MatmulProblem &problem, std::byte *scratch)
      : p(problem), kernel(selectMicroKernel<A>()), packLeft(getPack<A>(p.lhsType, kernel.rows)),
        packRight(getPack<A>(p.rhsType, kernel.columns)), storeOut(getStore<A>(p.outType, p.outColumn)),
        rounding(getRounding<A>(p.outType)) {
    ScratchSizes sizes(problem);
    left = reinterpret_cast<A *>(scratch);
    right = left + sizes.left;
    sums = right + sizes.right;
    readsLeft = isReadable<A>(p.lhsType) &&
                (p.lhsColumn == 1 ? p.m <= fewRows || p.n <= 4 * kernel.columns : p.n <= 2 * kernel.columns);
    packsInKernel = isReadable<A>(p.rhsType) && p.rhsColumn == 1 && p.m <= blockM && p.rhsRow <= shortLine;
  }

  void run(const std::byte *lhs, const std::byte *rhs, std::byte *out) {
    if (hasShortParts(p))
      return runShortParts(lhs, rhs, out);
    if (hasVeryLongParts(p))
      return runVeryLongParts(lhs, rhs, out);
    if (hasParts(p))
      return runLongParts(lhs, rhs, out);
    for (int64_t n0 = 0; n0 < p.n; n0 += blockN) {
      int64_t n = std::min(blockN, p.n - n0);
      bool inPlace = sumsInPlace(p);
      A *target = inPlace ? reinterpret_cast<A *>(out) + n0 : sums;
      int64_t stride = inPlace ? p.outRow : n;
      if (p.k == 0)
        std::fill(sums, sums + p.m * n, A(0));
      for (int64_t k0 = 0; k0 < p.k; k0 += blockK) {
        int64_t k = std::min(blockK, p.k - k0);
        Panel panel = readPanel(rhs, n0, n, k0, k);
        for (int64_t m0 = 0; m0 < p.m; m0 += blockM) {
          int64_t m = std::min(blockM, p.m - m0);
          multiplyBlock(readRows(lhs, m0, m, k0, k), panel, m, n, k, target + m0 * stride, stride, k0 != 0);
        }
      }
      if (!inPlace)
        put(sums, 0, p.m, n0, n, out);
    }
  }

private:
  /// How many of the terms from k0 to before k0 + k there are.
  int64_t countTerms(int64_t k0, int64_t k) const { return std::clamp<int64_t>(p.k - k0, 0, k); }
  void packPanel(const std::byte *rhs, int64_t n0, int64_t n, int64_t k0, int64_t k, A *to) {
    packRight(rhs + (k0 * p.rhsRow + n0 * p.rhsColumn) * static_cast<int64_t>(getSize(p.rhsType)), n, countTerms(k0, k),
              k, p.rhsColumn, p.rhsRow, to);
  }
  void packRows(const std::byte *lhs, int64_t m0, int64_t m, int64_t k0, int64_t k, A *to) {
    packLeft(lhs + (m0 * p.lhsRow + k0 * p.lhsColumn) * static_cast<int64_t>(getSize(p.lhsType)), m, countTerms(k0, k),
             k, p.lhsRow, p.lhsColumn, to);
  }
  /// Writes m x n sums into the result at row m0 and column n0.
  void put(const A *values, int64_t m0, int64_t m, int64_t n0, int64_t n, std::byte *out) {
    storeOut(values, m, n, out + (m0 * p.outRow + n0 * p.outColumn) * static_cast<int64_t>(getSize(p.outType)),
             p.outRow, p.outColumn);
  }

  /// Parts of single blocks. Every sliver of columns goes through all parts, with the packed rows of all of k.
  void runShortParts(const std::byte *lhs, const std::byte *rhs, std::byte *out) {
    int64_t depth = getPartLength(p), length = getFilledLength(p);
    int64_t columns = getColumnsInParts(p), rows = getRowsOfBlock(p);
    // Micro-kernels round to BFloat16 themselves.
    Ending ending{false, rounding.add != nullptr, p.lhsType == F32 || p.rhsType == F32};
    auto run = kernel.get(/*hasPackedRows=*/true, /*hasPackedLines=*/true, kernel.rows, kernel.columns);
    for (int64_t n0 = 0; n0 < p.n; n0 += columns) {
      int64_t n = std::min(columns, p.n - n0);
      packPanel(rhs, n0, n, 0, length, right);
      for (int64_t m0 = 0; m0 < p.m; m0 += rows) {
        int64_t m = std::min(rows, p.m - m0);
        packRows(lhs, m0, m, 0, length, left);
        for (int64_t j = 0; j < n; j += kernel.columns) {
          PartStack<A> stack(sums, roundUp(m, kernel.rows) * kernel.columns, rounding,
                             /*joins=*/!rounding.round || ending.rounds, ending);
          for (int64_t part = 0; part != p.parts; ++part) {
            auto [to, how] = stack.begin();
            for (int64_t i = 0; i < m; i += kernel.rows)
              run({.k = depth,
                   .lhs = left + i * length + part * depth * kernel.rows,
                   .rhs = right + j * length + part * depth * kernel.columns,
                   .out = to + i * kernel.columns,
                   .outRow = kernel.columns,
                   .ending = how});
            stack.end();
          }
          putSliver(m0, m, n0 + j, std::min(kernel.columns, n - j), out);
        }
      }
    }
  }

  /// Writes the sums of a sliver of columns, rows of which are as long as those of the micro-kernel.
  void putSliver(int64_t m0, int64_t m, int64_t n0, int64_t n, std::byte *out) {
    if (n == kernel.columns)
      return put(sums, m0, m, n0, n, out);
    for (int64_t i = 0; i != m; ++i)
      put(sums + i * kernel.columns, m0 + i, 1, n0, n, out);
  }

  void runLongParts(const std::byte *lhs, const std::byte *rhs, std::byte *out) {
    int64_t depth = getPartLength(p), length = getFilledLength(p);
    int64_t columns = getColumnsInParts(p), rows = getRowsOfBlock(p);
    for (int64_t n0 = 0; n0 < p.n; n0 += columns) {
      int64_t n = std::min(columns, p.n - n0);
      forEachBlock(0, length, depth, [&](int64_t k0, int64_t k) { packPanel(rhs, n0, n, k0, k, getPlace(k0, n)); });
      for (int64_t m0 = 0; m0 < p.m; m0 += rows) {
        int64_t m = std::min(rows, p.m - m0);
        PartStack<A> stack(sums, m * n, rounding, /*joins=*/depth <= blockK && !rounding.round);
        for (int64_t part = 0; part != p.parts; ++part) {
          auto [to, ending] = stack.begin();
          A *target = to;
          bool isAdded = ending.adds;
          forEachBlock(part * depth, (part + 1) * depth, depth, [&](int64_t k0, int64_t k) {
            packRows(lhs, m0, m, k0, k, left);
            multiplyBlock({left, k}, {getPlace(k0, n)}, m, n, k, target, n, isAdded || k0 != part * depth);
          });
          stack.end();
        }
        put(sums, m0, m, n0, n, out);
      }
    }
  }

  void runVeryLongParts(const std::byte *lhs, const std::byte *rhs, std::byte *out) {
    int64_t depth = getPartLength(p);
    for (int64_t n0 = 0; n0 < p.n; n0 += blockN) {
      int64_t n = std::min(blockN, p.n - n0);
      for (int64_t m0 = 0; m0 < p.m; m0 += blockMOfVeryLong) {
        int64_t rows = std::min(blockMOfVeryLong, p.m - m0);
        PartStack<A> stack(sums, rows * n, rounding, /*joins=*/false);
        for (int64_t part = 0; part != p.parts; ++part) {
          A *target = stack.begin().first;
          forEachBlock(part * depth, (part + 1) * depth, depth, [&](int64_t k0, int64_t k) {
            packPanel(rhs, n0, n, k0, k, right);
            for (int64_t i = 0; i < rows; i += blockM) {
              int64_t m = std::min(blockM, rows - i);
              packRows(lhs, m0 + i, m, k0, k, left);
              multiplyBlock({left, k}, {right}, m, n, k, target + i * n, n, k0 != part * depth);
            }
          });
          stack.end();
        }
        put(sums, m0, rows, n0, n, out);
      }
    }
  }

  /// Calls fn(begin, size) for the blocks of k from `begin` to before `end`, which do not cross multiples of `depth`.
  template <typename Fn> static void forEachBlock(int64_t begin, int64_t end, int64_t depth, Fn fn) {
    for (int64_t part = begin; part < end; part += depth)
      for (int64_t k0 = part; k0 < part + depth; k0 += blockK)
        fn(k0, std::min(blockK, part + depth - k0));
  }

  /// Where line k0 of a packed panel of n columns begins.
  A *getPlace(int64_t k0, int64_t n) const { return right + k0 * roundUp(n, kernel.columns); }

  /// Some rows of the left operand, packed or as they lie; row i begins at i * `perRow`.
  struct Block {
    const A *first;
    int64_t perRow;
    bool isPacked = true;
  };
  /// Some columns of the right operand.
  struct Panel {
    A *packed;
    /// If set, where the columns lie. Packed are only the last ones, if they are no whole sliver. After them is the
    /// place where the micro-kernel packs one sliver after the other.
    const A *first = nullptr;
  };

  /// Packs rows, unless they are read so seldom that this does not pay.
  Block readRows(const std::byte *lhs, int64_t m0, int64_t m, int64_t k0, int64_t k) {
    if (readsLeft)
      return {reinterpret_cast<const A *>(lhs) + m0 * p.lhsRow + k0 * p.lhsColumn, p.lhsRow, false};
    packRows(lhs, m0, m, k0, k, left);
    return {left, k};
  }
  /// Packs columns, unless the micro-kernel does so.
  Panel readPanel(const std::byte *rhs, int64_t n0, int64_t n, int64_t k0, int64_t k) {
    if (!packsInKernel) {
      packPanel(rhs, n0, n, k0, k, right);
      return {right};
    }
    // Vectors would go beyond the end of the last columns.
    if (int64_t rest = n % kernel.columns)
      packPanel(rhs, n0 + n - rest, rest, k0, k, right);
    return {right, reinterpret_cast<const A *>(rhs) + k0 * p.rhsRow + n0};
  }

  /// Adds the product of a block and a panel to `target`, or writes it there; its rows are `stride` apart.
  void multiplyBlock(const Block &block, const Panel &panel, int64_t m, int64_t n, int64_t k, A *target, int64_t stride,
                     bool adds) {
    alignas(64) A few[8 * 48];
    Tile<A> tile{.k = k, .lhsRow = p.lhsRow, .lhsColumn = p.lhsColumn, .rhsRow = p.rhsRow};
    for (int64_t j = 0; j < n; j += kernel.columns) {
      int64_t columns = std::min(kernel.columns, n - j), computed = kernel.getColumns(columns);
      bool isPacked = !panel.first || columns != kernel.columns;
      tile.packed = panel.packed + (!panel.first ? j : isPacked ? 0 : kernel.columns) * k;
      tile.rhs = isPacked ? tile.packed : panel.first + j;
      tile.outRow = columns == computed ? stride : computed;
      tile.ending.adds = adds && columns == computed;
      for (int64_t i = 0, rows; i != m; i += rows) {
        rows = std::min(kernel.rows, m - i);
        // The last rows in two slivers of one size: sums in few registers wait for each other.
        if (!block.isPacked && m - i > kernel.rows && m - i < 2 * kernel.rows)
          rows = (m - i + 1) / 2;
        A *to = target + i * stride + j;
        tile.lhs = block.first + i * block.perRow;
        tile.out = columns == computed ? to : few;
        kernel.get(block.isPacked, isPacked, rows, columns)(tile);
        isPacked = true;
        tile.rhs = tile.packed;
        if (columns == computed)
          continue;
        for (int64_t row = 0; row != rows; ++row)
          for (int64_t column = 0; column != columns; ++column) {
            A sum = few[row * computed + column];
            to[row * stride + column] = adds ? to[row * stride + column] + sum : sum;
          }
      }
    }
  }

  const MatmulProblem &p;
  const MicroKernel<A> &kernel;
  PackFn<A> packLeft, packRight;
  decltype(&store<A, A>) storeOut;
  Rounding<A> rounding;
  A *left, *right, *sums;
  /// True if the left operand is multiplied as it lies, since it has few rows or meets few slivers of the right one.
  bool readsLeft;
  /// True if the micro-kernel packs the right operand, for a few slivers of the left one.
  bool packsInKernel;
};

/// Calls `fn` with a zero of the type in which sums are taken.
template <typename Fn> void dispatchSum(const MatmulProblem &p, Fn &&fn) {
  if (!isFloat(p.outType))
    fn(uint64_t(0));
  else if (p.lhsType == F64 || p.rhsType == F64 || p.outType == F64)
    fn(double(0));
  else
    fn(float(0));
}

} // namespace

size_t meshwright::runtime::getBlockedMatmulScratch(const MatmulProblem &problem, int threads) {
  size_t bytes = 0;
  dispatchSum(problem,
              [&](auto zero) { bytes = DividedProduct<Product<decltype(zero)>>(problem, threads).getScratchBytes(); });
  return bytes;
}

void meshwright::runtime::runBlockedMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs,
                                           std::byte *out, std::byte *scratch, int threads) {
  if (problem.m == 0 || problem.n == 0 ||
      std::find(problem.batch.begin(), problem.batch.end(), 0) != problem.batch.end())
    return;
  if (problem.rounded != DTYPE_INVALID)
    return runTwinMatmul(problem, lhs, rhs, out, scratch, threads);
  if (problem.outType == RESIDUE)
    return runResidueMatmul(problem, lhs, rhs, out);
  dispatchSum(problem, [&](auto zero) {
    using Piece = Product<decltype(zero)>;
    DividedProduct<Piece>(problem, threads).run(lhs, rhs, out, scratch, [](Piece &, int64_t) {});
  });
}
