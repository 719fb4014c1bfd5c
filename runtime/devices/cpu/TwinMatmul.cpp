//===- TwinMatmul.cpp - products of the twin ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the result is a sum of rows of the right operand, of which blocks are packed. The row as it is so far is
// multiplied by 1 + u after each addition, with one random u for all its elements: each has the error of a partial sum
// that was rounded, which is all that its bound needs.
//
//===----------------------------------------------------------------------===//

#include "TwinMatmul.h"
#include "MatmulBatch.h"
#include "meshwright/runtime/Rounding.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr int64_t blockN = 256, blockK = 256;

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
    return 1 + unit * random->places * std::ldexp(static_cast<double>(drawn), -63);
  }

  void runColumns(const double *lhs, const double *rhs, double *out, int64_t n) {
    sums.assign(problem.m * n, 0);
    for (int64_t k0 = 0; k0 < problem.k; k0 += blockK) {
      int64_t k = std::min(blockK, problem.k - k0);
      pack(rhs + k0 * problem.rhsRow, k, n);
      for (int64_t i = 0; i != problem.m; ++i)
        for (int64_t p = 0; p != k; ++p) {
          double factor = lhs[i * problem.lhsRow + (k0 + p) * problem.lhsColumn];
          addRow(&sums[i * n], &packed[p * n], n, factor,
                 // A sum with zero is exact.
                 random && factor != 0 ? drawFactor(static_cast<uint64_t>(i), static_cast<uint64_t>(k0 + p)) : 1);
        }
    }
    for (int64_t i = 0; i != problem.m; ++i)
      for (int64_t j = 0; j != n; ++j)
        out[i * problem.outRow + j * problem.outColumn] = roundForTwin(problem.rounded, sums[i * n + j]);
  }

  static void addRow(double *sum, const double *row, int64_t n, double factor, double rounding) {
    if (rounding == 1)
      for (int64_t j = 0; j != n; ++j)
        sum[j] += factor * row[j];
    else
      for (int64_t j = 0; j != n; ++j)
        sum[j] = (sum[j] + factor * row[j]) * rounding;
  }

  const MatmulProblem &problem;
  std::optional<RandomRounding> random;
  std::vector<double> packed, sums;
  double unit;
  /// The element of the batch.
  uint64_t number = 0;
};

} // namespace

void meshwright::runtime::runTwinMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs,
                                        std::byte *out) {
  TwinProduct product(problem);
  forEachInBatch(problem, [&](int64_t l, int64_t r, int64_t o) {
    product.run(reinterpret_cast<const double *>(lhs) + l, reinterpret_cast<const double *>(rhs) + r,
                reinterpret_cast<double *>(out) + o);
  });
}
