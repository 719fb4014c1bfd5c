//===- BlockedMatmul.cpp - products without a library ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The usual three levels of blocking. Panels of the right operand (blockK x blockN, third-level cache) and of the left
// one (blockM x blockK, second-level cache) are packed into the type of the sums, whatever their types and strides
// were; a micro-kernel multiplies a sliver of rows with a sliver of columns in registers:
//
//            n -> blockN                      packed by columns of `columns`
//         +--------+--------+
//      k  | rhs    |        |                 micro-kernel: rows x columns of out
//         +--------+--------+                 += sum over the block of k
//    m +--+--------+
//      |lh| out    |
//      +--+--------+
//
// The sum over k runs in the same order for every element, whatever the vector width. Where it is taken in parts, the
// panel of the right operand has all of k, and a block of rows adds its parts while they are in the cache.
//
//===----------------------------------------------------------------------===//

#include "BlockedMatmul.h"
#include "MatmulBatch.h"
#include "ResidueMatmul.h"
#include "TwinMatmul.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr int64_t blockM = 96, blockK = 256, blockN = 1536;

//===----------------------------------------------------------------------===//
// Micro-kernels
//===----------------------------------------------------------------------===//

namespace {

/// tile[rows x columns] = sum over p < k of a[p, rows] * b[p, columns].
template <typename T> using MicroKernelFn = void (*)(int64_t k, const T *a, const T *b, T *tile);

/// `rows` rows and three vectors of columns fill the registers.
template <typename T, int vectorBytes, int rows>
[[gnu::always_inline]] inline void multiply(int64_t k, const T *a, const T *b, T *tile) {
  typedef T Vector __attribute__((vector_size(vectorBytes), aligned(alignof(T))));
  constexpr int lanes = vectorBytes / sizeof(T), columns = 3 * lanes;
  Vector sum[rows][3] = {};
  for (int64_t p = 0; p != k; ++p, a += rows, b += columns) {
    Vector b0 = *reinterpret_cast<const Vector *>(b), b1 = *reinterpret_cast<const Vector *>(b + lanes),
           b2 = *reinterpret_cast<const Vector *>(b + 2 * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i != rows; ++i) {
      sum[i][0] += a[i] * b0;
      sum[i][1] += a[i] * b1;
      sum[i][2] += a[i] * b2;
    }
  }
  for (int i = 0; i != rows; ++i)
    std::memcpy(tile + i * columns, sum[i], sizeof(sum[i]));
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f"))) void multiplyAvx512(int64_t k, const T *a, const T *b, T *tile) {
  multiply<T, 64, 8>(k, a, b, tile);
}
template <typename T>
__attribute__((target("avx2,fma"))) void multiplyAvx2(int64_t k, const T *a, const T *b, T *tile) {
  multiply<T, 32, 4>(k, a, b, tile);
}
#endif
template <typename T> void multiplyAny(int64_t k, const T *a, const T *b, T *tile) {
  multiply<T, 16, 4>(k, a, b, tile);
}

template <typename T> struct MicroKernel {
  MicroKernelFn<T> run;
  int64_t rows, columns;
};

template <typename T> MicroKernel<T> selectMicroKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {multiplyAvx512<T>, 8, 3 * 64 / sizeof(T)};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {multiplyAvx2<T>, 4, 3 * 32 / sizeof(T)};
#endif
  return {multiplyAny<T>, 4, 3 * 16 / sizeof(T)};
}

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

/// Packs `size` x k elements into slivers of `width`, k slowest within a sliver; what is beyond `size` is zero.
template <typename A, typename T>
void pack(const std::byte *source, int64_t size, int64_t k, int64_t stride, int64_t kStride, int64_t width, A *to) {
  const T *from = reinterpret_cast<const T *>(source);
  for (int64_t begin = 0; begin < size; begin += width, to += width * k) {
    int64_t count = std::min(width, size - begin);
    const T *base = from + begin * stride;
    if (count < width)
      std::fill(to, to + width * k, A(0));
    if (stride == 1) {
      for (int64_t p = 0; p != k; ++p)
        for (int64_t i = 0; i != count; ++i)
          to[p * width + i] = widen<A>(base[p * kStride + i]);
      continue;
    }
    // Lines of the source are read from end to end, 16 positions of k at a time so that the target stays in the cache.
    for (int64_t q = 0; q < k; q += 16)
      for (int64_t i = 0; i != count; ++i)
        for (int64_t p = q, end = std::min(k, q + 16); p != end; ++p)
          to[p * width + i] = widen<A>(base[i * stride + p * kStride]);
  }
}

/// Writes m x n sums.
template <typename A, typename T>
void store(const A *sums, int64_t m, int64_t n, std::byte *target, int64_t row, int64_t column) {
  T *out = reinterpret_cast<T *>(target);
  for (int64_t i = 0; i != m; ++i)
    for (int64_t j = 0; j != n; ++j)
      out[i * row + j * column] = narrow<T>(sums[i * n + j]);
}

template <typename T> constexpr bool isFloatType = !std::is_integral_v<T>;

template <typename A> auto getPack(DType type) {
  return dispatch(type, [](auto zero) -> decltype(&pack<A, A>) {
    if constexpr (isFloatType<A> == isFloatType<decltype(zero)>)
      return pack<A, decltype(zero)>;
    else
      return nullptr;
  });
}

template <typename A> auto getStore(DType type) {
  return dispatch(type, [](auto zero) -> decltype(&store<A, A>) {
    if constexpr (isFloatType<A> == isFloatType<decltype(zero)>)
      return store<A, decltype(zero)>;
    else
      return nullptr;
  });
}

//===----------------------------------------------------------------------===//
// The loops around the micro-kernel
//===----------------------------------------------------------------------===//

constexpr int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// How many columns a panel has that spans all of k: its bytes are bounded, and so are those of the sums of a block.
int64_t getColumnsInParts(const MatmulProblem &p) {
  constexpr int64_t panelElements = 2 << 20, mostColumns = 768, width = 48;
  return std::min(p.n, std::clamp(panelElements / std::max<int64_t>(p.k, 1) / width * width, width, mostColumns));
}

/// The layout of the scratch memory, in elements of the sums' type; widths of slivers are at most 48.
struct ScratchSizes {
  int64_t left, right, sums;
  explicit ScratchSizes(const MatmulProblem &p) {
    if (p.parts > 1) {
      int64_t columns = getColumnsInParts(p);
      left = roundUp(std::min(p.m, blockM) + 8, 8) * std::min(p.k / p.parts, blockK);
      right = (columns + 48) * p.k;
      sums = std::min(p.m, blockM) * columns * std::bit_width(static_cast<uint64_t>(p.parts));
      left = roundUp(left, 16);
      right = roundUp(right, 16);
      return;
    }
    int64_t depth = std::min(p.k, blockK);
    left = roundUp(std::min(p.m, blockM) + 8, 8) * depth;
    right = (std::min(p.n, blockN) + 48) * depth;
    sums = p.m * std::min(p.n, blockN);
    left = roundUp(left, 16);
    right = roundUp(right, 16);
  }
};

template <typename A> class Product {
public:
  Product(const MatmulProblem &problem, std::byte *scratch)
      : p(problem), kernel(selectMicroKernel<A>()), packLeft(getPack<A>(p.lhsType)), packRight(getPack<A>(p.rhsType)),
        storeOut(getStore<A>(p.outType)) {
    ScratchSizes sizes(problem);
    left = reinterpret_cast<A *>(scratch);
    right = left + sizes.left;
    sums = right + sizes.right;
  }

  void run(const std::byte *lhs, const std::byte *rhs, std::byte *out) {
    if (p.parts > 1)
      return runInParts(lhs, rhs, out);
    int64_t lhsSize = getSize(p.lhsType), rhsSize = getSize(p.rhsType), outSize = getSize(p.outType);
    for (int64_t n0 = 0; n0 < p.n; n0 += blockN) {
      int64_t n = std::min(blockN, p.n - n0);
      if (p.k == 0)
        std::fill(sums, sums + p.m * n, A(0));
      for (int64_t k0 = 0; k0 < p.k; k0 += blockK) {
        int64_t k = std::min(blockK, p.k - k0);
        packRight(rhs + (k0 * p.rhsRow + n0 * p.rhsColumn) * rhsSize, n, k, p.rhsColumn, p.rhsRow, kernel.columns,
                  right);
        for (int64_t m0 = 0; m0 < p.m; m0 += blockM) {
          int64_t m = std::min(blockM, p.m - m0);
          packLeft(lhs + (m0 * p.lhsRow + k0 * p.lhsColumn) * lhsSize, m, k, p.lhsRow, p.lhsColumn, kernel.rows, left);
          multiplyBlock(right, m, n, k, sums + m0 * n, k0 == 0);
        }
      }
      storeOut(sums, p.m, n, out + n0 * p.outColumn * outSize, p.outRow, p.outColumn);
    }
  }

private:
  void runInParts(const std::byte *lhs, const std::byte *rhs, std::byte *out) {
    int64_t rhsSize = getSize(p.rhsType), outSize = getSize(p.outType), depth = p.k / p.parts;
    int64_t columns = getColumnsInParts(p);
    for (int64_t n0 = 0; n0 < p.n; n0 += columns) {
      int64_t n = std::min(columns, p.n - n0);
      forEachBlock(0, p.k, depth, [&](int64_t k0, int64_t k) {
        packRight(rhs + (k0 * p.rhsRow + n0 * p.rhsColumn) * rhsSize, n, k, p.rhsColumn, p.rhsRow, kernel.columns,
                  getPanel(k0, n));
      });
      for (int64_t m0 = 0; m0 < p.m; m0 += blockM) {
        int64_t m = std::min(blockM, p.m - m0);
        addParts(lhs, m0, m, n, depth);
        storeOut(sums, m, n, out + (m0 * p.outRow + n0 * p.outColumn) * outSize, p.outRow, p.outColumn);
      }
    }
  }

  /// Calls fn(begin, size) for the blocks of k from `begin` to before `end`, which do not cross multiples of `depth`.
  template <typename Fn> static void forEachBlock(int64_t begin, int64_t end, int64_t depth, Fn fn) {
    for (int64_t part = begin; part < end; part += depth)
      for (int64_t k0 = part; k0 < part + depth; k0 += blockK)
        fn(k0, std::min(blockK, part + depth - k0));
  }

  /// The packed block of the right operand that begins at k0.
  A *getPanel(int64_t k0, int64_t n) const { return right + k0 * roundUp(n, kernel.columns); }

  /// The parts of rows m0.. into the sums: a stack, in which the upper two are added whenever they are neighbours in
  /// the tree. A second neighbour of a single block is added to the first as it is made, which is the same addition.
  void addParts(const std::byte *lhs, int64_t m0, int64_t m, int64_t n, int64_t depth) {
    int64_t lhsSize = getSize(p.lhsType), height = 0;
    for (int64_t part = 0; part != p.parts; ++part) {
      bool joins = part % 2 == 1 && depth <= blockK;
      A *to = sums + (joins ? height - 1 : height) * m * n;
      forEachBlock(part * depth, (part + 1) * depth, depth, [&](int64_t k0, int64_t k) {
        packLeft(lhs + (m0 * p.lhsRow + k0 * p.lhsColumn) * lhsSize, m, k, p.lhsRow, p.lhsColumn, kernel.rows, left);
        multiplyBlock(getPanel(k0, n), m, n, k, to, k0 == part * depth && !joins);
      });
      int64_t pairs = part + 1;
      if (joins)
        pairs /= 2;
      else
        ++height;
      for (; pairs % 2 == 0; pairs /= 2) {
        --height;
        A *lower = sums + (height - 1) * m * n;
        const A *upper = sums + height * m * n;
        for (int64_t i = 0; i != m * n; ++i)
          lower[i] += upper[i];
      }
    }
  }

  /// Adds the product of the packed blocks to `target`, or writes it there.
  void multiplyBlock(const A *panel, int64_t m, int64_t n, int64_t k, A *target, bool first) {
    alignas(64) A tile[8 * 48];
    for (int64_t j = 0; j < n; j += kernel.columns)
      for (int64_t i = 0; i < m; i += kernel.rows) {
        kernel.run(k, left + i * k, panel + j * k, tile);
        int64_t columns = std::min(kernel.columns, n - j);
        for (int64_t row = 0, rows = std::min(kernel.rows, m - i); row != rows; ++row) {
          A *to = target + (i + row) * n + j;
          const A *from = tile + row * kernel.columns;
          if (first)
            std::copy(from, from + columns, to);
          else
            for (int64_t column = 0; column != columns; ++column)
              to[column] += from[column];
        }
      }
  }

  const MatmulProblem &p;
  MicroKernel<A> kernel;
  decltype(&pack<A, A>) packLeft, packRight;
  decltype(&store<A, A>) storeOut;
  A *left, *right, *sums;
};

template <typename A>
void runTyped(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out,
              std::byte *scratch) {
  Product<A> product(problem, scratch);
  int64_t lhsSize = getSize(problem.lhsType), rhsSize = getSize(problem.rhsType), outSize = getSize(problem.outType);
  forEachInBatch(problem, [&](int64_t l, int64_t r, int64_t o) {
    product.run(lhs + l * lhsSize, rhs + r * rhsSize, out + o * outSize);
  });
}

} // namespace

size_t meshwright::runtime::getBlockedMatmulScratch(const MatmulProblem &problem) {
  ScratchSizes sizes(problem);
  return (sizes.left + sizes.right + sizes.sums) * sizeof(double);
}

void meshwright::runtime::runBlockedMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs,
                                           std::byte *out, std::byte *scratch) {
  if (problem.m == 0 || problem.n == 0 ||
      std::find(problem.batch.begin(), problem.batch.end(), 0) != problem.batch.end())
    return;
  if (problem.rounded != DTYPE_INVALID)
    return runTwinMatmul(problem, lhs, rhs, out);
  if (problem.outType == RESIDUE)
    return runResidueMatmul(problem, lhs, rhs, out);
  if (!isFloat(problem.outType))
    return runTyped<uint64_t>(problem, lhs, rhs, out, scratch);
  if (problem.lhsType == F64 || problem.rhsType == F64 || problem.outType == F64)
    return runTyped<double>(problem, lhs, rhs, out, scratch);
  runTyped<float>(problem, lhs, rhs, out, scratch);
}
