//===- ResidueMatmul.cpp - products of residues ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of both operands are packed with k innermost. A sum of up to 32 products of numbers below 2^61 fits 128 bits,
// so it is reduced once for as many. Blocks with infinities or NaNs, as from masks, add their products one by one.
//
//===----------------------------------------------------------------------===//

#include "ResidueMatmul.h"
#include "MatmulBatch.h"
#include "meshwright/runtime/Residue.h"
#include <algorithm>
#include <vector>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr int64_t blockM = 64, blockN = 64, blockK = 512, productsPerSum = 32, columnsAtOnce = 4;

namespace {

/// The block of an operand: `size` lines of `depth` numbers.
struct PackedBlock {
  std::vector<uint64_t> words = std::vector<uint64_t>((std::max(blockM, blockN) + columnsAtOnce) * blockK);
  bool isFinite = true;

  void pack(const Residue *from, int64_t size, int64_t depth, int64_t lineStride, int64_t stride) {
    isFinite = true;
    for (int64_t line = 0; line != size; ++line)
      for (int64_t p = 0; p != depth; ++p) {
        Residue element = from[line * lineStride + p * stride];
        isFinite &= element.isFinite();
        words[line * depth + p] = element.getBits();
      }
    // Lines beyond the block, whose products are not read.
    std::fill_n(words.begin() + size * depth, columnsAtOnce * depth, 0);
  }
};

/// sums[j] += the product of a line with each of several lines.
void addProducts(const uint64_t *lhs, const uint64_t *rhs, int64_t depth, Residue *sums) {
  for (int64_t begin = 0; begin < depth; begin += productsPerSum) {
    unsigned __int128 partial[columnsAtOnce] = {};
    for (int64_t p = begin, end = std::min(depth, begin + productsPerSum); p != end; ++p)
      for (int64_t j = 0; j != columnsAtOnce; ++j)
        partial[j] += static_cast<unsigned __int128>(lhs[p]) * rhs[j * depth + p];
    for (int64_t j = 0; j != columnsAtOnce; ++j)
      sums[j] += Residue::fromBits(Residue::reduce(partial[j]));
  }
}

void addProductsOneByOne(const uint64_t *lhs, const uint64_t *rhs, int64_t depth, Residue *sums) {
  for (int64_t j = 0; j != columnsAtOnce; ++j)
    for (int64_t p = 0; p != depth; ++p)
      sums[j] += Residue::fromBits(lhs[p]) * Residue::fromBits(rhs[j * depth + p]);
}

class ResidueProduct {
public:
  explicit ResidueProduct(const MatmulProblem &problem) : problem(problem) {}

  void run(const Residue *lhs, const Residue *rhs, Residue *out) {
    for (int64_t m0 = 0; m0 < problem.m; m0 += blockM)
      for (int64_t n0 = 0; n0 < problem.n; n0 += blockN)
        runBlock(lhs + m0 * problem.lhsRow, rhs + n0 * problem.rhsColumn,
                 out + m0 * problem.outRow + n0 * problem.outColumn, std::min(blockM, problem.m - m0),
                 std::min(blockN, problem.n - n0));
  }

private:
  void runBlock(const Residue *lhs, const Residue *rhs, Residue *out, int64_t m, int64_t n) {
    constexpr int64_t width = blockN + columnsAtOnce;
    sums.assign(m * width, Residue());
    for (int64_t k0 = 0; k0 < problem.k; k0 += blockK) {
      int64_t depth = std::min(blockK, problem.k - k0);
      left.pack(lhs + k0 * problem.lhsColumn, m, depth, problem.lhsRow, problem.lhsColumn);
      right.pack(rhs + k0 * problem.rhsRow, n, depth, problem.rhsColumn, problem.rhsRow);
      auto add = left.isFinite && right.isFinite ? addProducts : addProductsOneByOne;
      for (int64_t i = 0; i != m; ++i)
        for (int64_t j = 0; j < n; j += columnsAtOnce)
          add(&left.words[i * depth], &right.words[j * depth], depth, &sums[i * width + j]);
    }
    for (int64_t i = 0; i != m; ++i)
      for (int64_t j = 0; j != n; ++j)
        out[i * problem.outRow + j * problem.outColumn] = sums[i * width + j];
  }

  const MatmulProblem &problem;
  PackedBlock left, right;
  std::vector<Residue> sums;
};

} // namespace

void meshwright::runtime::runResidueMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs,
                                           std::byte *out) {
  ResidueProduct product(problem);
  forEachInBatch(problem, [&](int64_t l, int64_t r, int64_t o) {
    product.run(reinterpret_cast<const Residue *>(lhs) + l, reinterpret_cast<const Residue *>(rhs) + r,
                reinterpret_cast<Residue *>(out) + o);
  });
}
