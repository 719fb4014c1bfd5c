//===- TwinMatmul.cpp - products of the twin ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where nothing is rounded, the product is one of f64, but for its range. Where rounding is random, a row of the result
// is a sum of rows of the right operand, of which blocks are packed. The row as it is so far is multiplied by 1 + u
// after each addition, with one random u for all its elements: each has the error of a partial sum that was rounded,
// which is all that its bound needs. Four additions are made while an element is in a register.
//
//===----------------------------------------------------------------------===//

#include "TwinMatmul.h"
#include "BlockedMatmul.h"
#include "MatmulBatch.h"
#include "meshwright/runtime/Rounding.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr int64_t blockN = 256, blockK = 256;

/// The rows of a block that are added to a row of sums at a time.
static constexpr int64_t together = 4;

/// sum[j] = (sum[j] + factors[t] * rows[t][j]) * roundings[t] for every t in turn.
[[gnu::always_inline]] static inline void addRowsOf(double *sum, const double *rows, int64_t n, const double *factors,
                                                    const double *roundings) {
  for (int64_t j = 0; j != n; ++j) {
    double element = sum[j];
    for (int64_t t = 0; t != together; ++t)
      element = (element + factors[t] * rows[t * n + j]) * roundings[t];
    sum[j] = element;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void addRowsAvx2(double *sum, const double *rows, int64_t n,
                                                            const double *factors, const double *roundings) {
  addRowsOf(sum, rows, n, factors, roundings);
}
#endif
static void addRowsAny(double *sum, const double *rows, int64_t n, const double *factors, const double *roundings) {
  addRowsOf(sum, rows, n, factors, roundings);
}

static decltype(&addRowsAny) selectAddRows() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return addRowsAvx2;
#endif
  return addRowsAny;
}

namespace {

class TwinProduct {
public:
  explicit TwinProduct(const MatmulProblem &problem)
      : problem(problem), random(getRounding()), packed(blockN * blockK),
        unit(std::ldexp(1.0, problem.rounded == F64 ? -53 : -24)) {}

  void run(const double *lhs, const double *rhs, double *out) {
    for (int64_t n0 = 0; n0 < problem.n; n0 += blockN)
      runColumns(lhs, rhs + n0 * problem.rhsColumn, out + n0 * problem.outColumn, std::min(blockN, problem.n - n0));
    ++number;
  }

private:
  void pack(const double *rhs, int64_t k, int64_t n) {
    for (int64_t p = 0; p != k; ++p)
      for (int64_t j = 0; j != n; ++j)
        packed[p * n + j] = rhs[p * problem.rhsRow + j * problem.rhsColumn];
  }

  /// A number in [1 - unit, 1 + unit), or so many times as far from 1.
  double drawFactor(uint64_t row, uint64_t place) const {
    auto drawn = static_cast<int64_t>(mixBits(mixBits(random->seed + number) + (row << 32) + place));
    return 1 + unit * random->places * (0x1p-63 * static_cast<double>(drawn));
  }

  void runColumns(const double *lhs, const double *rhs, double *out, int64_t n) {
    sums.assign(problem.m * n, 0);
    for (int64_t k0 = 0; k0 < problem.k; k0 += blockK) {
      int64_t k = std::min(blockK, problem.k - k0);
      pack(rhs + k0 * problem.rhsRow, k, n);
      for (int64_t i = 0; i != problem.m; ++i)
        addRows(lhs + i * problem.lhsRow + k0 * problem.lhsColumn, i, k0, k, n);
    }
    for (int64_t i = 0; i != problem.m; ++i)
      for (int64_t j = 0; j != n; ++j)
        out[i * problem.outRow + j * problem.outColumn] = roundForTwin(problem.rounded, sums[i * n + j]);
  }

  /// Adds k rows of the packed block, from number k0 on, to row i of the sums.
  void addRows(const double *lhs, int64_t i, int64_t k0, int64_t k, int64_t n) {
    std::array<double, together> factors, roundings;
    for (int64_t p = 0; p < k; p += together) {
      for (int64_t t = 0; t != together; ++t) {
        factors[t] = p + t < k ? lhs[(p + t) * problem.lhsColumn] : 0;
        // A sum with zero is exact.
        roundings[t] = factors[t] == 0 ? 1 : drawFactor(static_cast<uint64_t>(i), static_cast<uint64_t>(k0 + p + t));
      }
      // Rows beyond the last are none: a factor of zero would make NaN of what is infinite there.
      int64_t count = std::min(together, k - p);
      if (count == together)
        addTogether(&sums[i * n], &packed[p * n], n, factors.data(), roundings.data());
      else
        for (int64_t t = 0; t != count; ++t)
          for (int64_t j = 0; j != n; ++j)
            sums[i * n + j] = (sums[i * n + j] + factors[t] * packed[(p + t) * n + j]) * roundings[t];
    }
  }

  const MatmulProblem &problem;
  std::optional<RandomRounding> random;
  decltype(&addRowsAny) addTogether = selectAddRows();
  std::vector<double> packed, sums;
  double unit;
  /// The element of the batch.
  uint64_t number = 0;
};

} // namespace

/// The product in f64 as it is, and then what the type makes of numbers that are too large for it.
static void runUnrounded(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                         std::byte *scratch, int threads) {
  MatmulProblem plain = problem;
  plain.rounded = DTYPE_INVALID;
  runBlockedMatmul(plain, lhs, rhs, out, scratch, threads);
  if (problem.rounded == F64)
    return;
  forEachInBatch(problem, [&](int64_t, int64_t, int64_t o) {
    double *result = reinterpret_cast<double *>(out) + o;
    for (int64_t i = 0; i != problem.m; ++i)
      for (int64_t j = 0; j != problem.n; ++j) {
        double &element = result[i * problem.outRow + j * problem.outColumn];
        element = roundForTwin(problem.rounded, element);
      }
  });
}

void meshwright::runtime::runTwinMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs,
                                        std::byte *out, std::byte *scratch, int threads) {
  if (!getRounding())
    return runUnrounded(problem, lhs, rhs, out, scratch, threads);
  TwinProduct product(problem);
  forEachInBatch(problem, [&](int64_t l, int64_t r, int64_t o) {
    product.run(reinterpret_cast<const double *>(lhs) + l, reinterpret_cast<const double *>(rhs) + r,
                reinterpret_cast<double *>(out) + o);
  });
}
