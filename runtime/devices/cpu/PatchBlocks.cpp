//===- PatchBlocks.cpp - the memory around products of patches ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops around the products of a convolution: gathering patches of the operand and of the kernel into contiguous
// blocks, adding sums of blocks, and storing them in the type of the result. The positions of a block are listed as
// spans in advance, so that the inner loops have no index arithmetic.
//
//===----------------------------------------------------------------------===//

#include "PatchBlocks.h"
#include "meshwright/runtime/Rounding.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Gathering, for which elements are bytes
//===----------------------------------------------------------------------===//

/// Calls `fn` with a zero of an unsigned type as large as an element.
template <typename Fn> static void dispatchSize(DType type, Fn &&fn) {
  switch (getSize(type)) {
  case 8:
    return fn(uint64_t(0));
  case 4:
    return fn(uint32_t(0));
  default:
    return fn(uint16_t(0));
  }
}

/// Short runs are not worth a call.
template <typename T> static void copyRun(T *to, const T *from, int64_t length) {
  if (length > 16) {
    std::memcpy(to, from, length * sizeof(T));
    return;
  }
  for (int64_t i = 0; i != length; ++i)
    to[i] = from[i];
}

void meshwright::runtime::gatherPatches(const ConvolutionProblem &problem, std::span<const Span> rows,
                                        std::span<const Span> columns, const std::byte *lhs, std::byte *block,
                                        int64_t rowStride, int64_t depthStride) {
  dispatchSize(problem.lhsType, [&](auto zero) {
    using T = decltype(zero);
    const T *from = reinterpret_cast<const T *>(lhs);
    for (const Span &row : rows)
      for (const Span &column : columns) {
        T *to = reinterpret_cast<T *>(block) + row.begin * rowStride + column.begin * depthStride;
        int64_t length = std::max(row.length, column.length);
        if (std::optional<int64_t> element = findElement(problem, row, column))
          copyRun(to, from + *element, length);
        else
          std::fill(to, to + length, zero);
      }
  });
}

void meshwright::runtime::gatherKernel(const ConvolutionProblem &problem, std::span<const Span> columns,
                                       const std::byte *rhs, std::byte *block) {
  dispatchSize(problem.rhsType, [&](auto zero) {
    using T = decltype(zero);
    const T *from = reinterpret_cast<const T *>(rhs) + problem.rhsStart;
    int64_t features = problem.features, inner = problem.depth.back().other;
    for (const Span &column : columns) {
      // Square tiles, so that neither side is read or written a line at a time for one element.
      for (int64_t begin = 0; begin < column.length; begin += 16)
        for (int64_t first = 0; first < features; first += 16)
          for (int64_t i = begin, end = std::min<int64_t>(begin + 16, column.length); i != end; ++i) {
            T *to = reinterpret_cast<T *>(block) + (column.begin + i) * features;
            const T *line = from + column.other + i * inner;
            for (int64_t n = first, last = std::min<int64_t>(first + 16, features); n != last; ++n)
              to[n] = line[n * problem.rhsFeature];
          }
    }
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Calls `fn` with a zero of the type in which sums are taken.
template <typename Fn> static void dispatchSum(DType type, Fn &&fn) {
  if (type == RESIDUE)
    return fn(Residue());
  return type == F64 ? fn(double()) : fn(float());
}

template <typename T> static void addTyped(const std::byte *addends, std::byte *sums, int64_t count) {
  const T *from = reinterpret_cast<const T *>(addends);
  T *to = reinterpret_cast<T *>(sums);
  for (int64_t i = 0; i != count; ++i)
    to[i] += from[i];
}

void meshwright::runtime::addSums(DType type, const std::byte *addends, std::byte *sums, int64_t count) {
  dispatchSum(type, [&](auto zero) { addTyped<decltype(zero)>(addends, sums, count); });
}

/// An element in the type of sums; narrow types convert to f32 alone.
template <typename A, typename T> static A widen(T value) {
  if constexpr (std::is_same_v<A, T>)
    return value;
  else if constexpr (isNarrowFloat<T>)
    return static_cast<A>(static_cast<float>(value));
  else
    return static_cast<A>(value);
}

template <typename T, typename A> static T narrow(A value) {
  if constexpr (std::is_same_v<A, T>)
    return value;
  else if constexpr (isNarrowFloat<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// An element of the result as the twin rounds it.
template <typename T> static T round(const ConvolutionProblem &problem, T value) {
  if constexpr (std::is_same_v<T, double>)
    return problem.rounded == DTYPE_INVALID ? value : roundForTwin(problem.rounded, value);
  else
    return value;
}

/// Calls `fn` with a zero of the element's type; a checked convolution is of floats of 16 bits or more.
template <typename Fn> static void dispatchFloat(DType type, Fn &&fn) {
  dispatch(type, [&](auto zero) {
    if constexpr (!std::is_integral_v<decltype(zero)> && sizeof(zero) > 1)
      fn(zero);
  });
}

/// Stores neighbouring sums, `stride` elements apart.
template <typename A, typename T>
static void storeLine(const ConvolutionProblem &problem, const A *sums, int64_t count, T *to, int64_t stride) {
  for (int64_t i = 0; i != count; ++i)
    to[i * stride] = round(problem, narrow<T>(sums[i]));
}

template <typename A>
static void storeTyped(const ConvolutionProblem &problem, std::span<const Span> rows, const std::byte *sums,
                       std::byte *out) {
  dispatchFloat(problem.outType, [&](auto zero) {
    using T = decltype(zero);
    int64_t inner = problem.rows.back().other;
    for (const Span &row : rows)
      for (int64_t i = 0; i != row.length; ++i) {
        const A *from = reinterpret_cast<const A *>(sums) + (row.begin + i) * problem.features;
        storeLine(problem, from, problem.features, reinterpret_cast<T *>(out) + row.other + i * inner,
                  problem.outFeature);
      }
  });
}

void meshwright::runtime::storeSums(const ConvolutionProblem &problem, std::span<const Span> rows,
                                    const std::byte *sums, std::byte *out) {
  dispatchSum(problem.getSumType(), [&](auto zero) { storeTyped<decltype(zero)>(problem, rows, sums, out); });
}

//===----------------------------------------------------------------------===//
// Groups beside each other
//===----------------------------------------------------------------------===//

namespace {

/// True if sums of products of L and R are taken in A (`getSumType`).
template <typename A, typename L, typename R>
constexpr bool areSummedIn = std::is_same_v<A, Residue> == std::is_same_v<L, Residue> &&
                             (!std::is_same_v<A, float> || (!std::is_same_v<L, double> && !std::is_same_v<R, double>));

/// Adds the product of an element of each group to its sum. Strides of 1 are what vectors are made of.
template <typename A, typename L, typename R>
void addProducts(int64_t groups, const std::byte *left, int64_t lhsStride, const std::byte *right, int64_t rhsStride,
                 std::byte *target) {
  const L *lhs = reinterpret_cast<const L *>(left);
  const R *rhs = reinterpret_cast<const R *>(right);
  A *sums = reinterpret_cast<A *>(target);
  if (lhsStride == 1 && rhsStride == 1) {
    for (int64_t g = 0; g != groups; ++g)
      sums[g] += widen<A>(lhs[g]) * widen<A>(rhs[g]);
    return;
  }
  for (int64_t g = 0; g != groups; ++g)
    sums[g] += widen<A>(lhs[g * lhsStride]) * widen<A>(rhs[g * rhsStride]);
}

template <typename A, typename T> void storeGroups(const ConvolutionProblem &p, const std::byte *sums, std::byte *out) {
  storeLine(p, reinterpret_cast<const A *>(sums), p.groups, reinterpret_cast<T *>(out), p.outGroup);
}

/// The loops over groups for the types of a convolution.
struct GroupLoops {
  decltype(&addProducts<float, float, float>) add = nullptr;
  decltype(&storeGroups<float, float>) store = nullptr;

  explicit GroupLoops(const ConvolutionProblem &p) {
    dispatchSum(p.getSumType(), [&](auto zero) {
      using A = decltype(zero);
      dispatchFloat(p.lhsType, [&](auto left) {
        dispatchFloat(p.rhsType, [&](auto right) {
          if constexpr (areSummedIn<A, decltype(left), decltype(right)>)
            add = addProducts<A, decltype(left), decltype(right)>;
        });
      });
      dispatchFloat(p.outType, [&](auto result) { store = storeGroups<A, decltype(result)>; });
    });
  }
};

/// Moves a position by so many iterations of a loop.
void advance(Span &span, const PatchLoop &loop, int64_t iterations) {
  span.lhs += loop.lhs * iterations;
  span.other += loop.other * iterations;
  if (loop.spatial >= 0)
    span.position[loop.spatial] += loop.step * iterations;
}

/// Calls fn(span) for every position of the loops from that depth on, in order, without memory.
template <typename Fn> void forEachPosition(const std::vector<PatchLoop> &loops, size_t depth, Span span, Fn &fn) {
  if (depth == loops.size()) {
    fn(span);
    return;
  }
  const PatchLoop &loop = loops[depth];
  for (int64_t index = 0; index != loop.extent; ++index) {
    forEachPosition(loops, depth + 1, span, fn);
    advance(span, loop, 1);
  }
}

} // namespace

void meshwright::runtime::convolveGroups(const ConvolutionProblem &p, int64_t from, int64_t to, const std::byte *lhs,
                                         const std::byte *rhs, std::byte *out, std::byte *sums) {
  GroupLoops loops(p);
  int64_t lhsSize = getSize(p.lhsType), rhsSize = getSize(p.rhsType), outSize = getSize(p.outType);
  auto computeRow = [&](const Span &row) {
    for (int64_t feature = 0; feature != p.features; ++feature) {
      std::memset(sums, 0, p.groups * getSize(p.getSumType()));
      auto addColumn = [&](const Span &column) {
        if (std::optional<int64_t> element = findElement(p, row, column))
          loops.add(p.groups, lhs + *element * lhsSize, p.lhsGroup,
                    rhs + (p.rhsStart + column.other + feature * p.rhsFeature) * rhsSize, p.rhsGroup, sums);
      };
      forEachPosition(p.depth, 0, Span{0, 1}, addColumn);
      loops.store(p, sums, out + (row.other + feature * p.outFeature) * outSize);
    }
  };
  Span span{0, 1};
  advance(span, p.rows.front(), from);
  for (int64_t index = from; index != to; ++index) {
    forEachPosition(p.rows, 1, span, computeRow);
    advance(span, p.rows.front(), 1);
  }
}
