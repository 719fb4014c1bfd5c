//===- DividedProduct.h - a product on several threads ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_DIVIDEDPRODUCT_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_DIVIDEDPRODUCT_H

#include "MatmulBatch.h"
#include "Threads.h"
#include "meshwright/runtime/Arena.h"
#include <cstddef>

namespace meshwright::runtime {

constexpr int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }
constexpr int64_t roundUp(int64_t value, int64_t multiple) { return divideUp(value, multiple) * multiple; }

/// True if the product has so many operations that it is divided among threads.
inline bool isDivided(const MatmulProblem &problem) {
  constexpr int64_t minOperations = 1 << 21;
  return getBatchSize(problem) * problem.m * problem.n * problem.k >= minOperations;
}

/// How a product is divided among threads: by elements of the batch, and each of these into pieces of rows or columns.
struct Division {
  int64_t batch, pieces = 1;
  bool byRows;
  int64_t piece; ///< rows or columns

  /// Pieces of rows, or of columns, are multiples of getGrain(byRows).
  Division(const MatmulProblem &p, int64_t (*getGrain)(bool byRows), int threads)
      : batch(getBatchSize(p)), byRows(p.m > p.n), piece(byRows ? p.m : p.n) {
    if (threads == 1 || batch >= 4 * threads || !isDivided(p))
      return;
    int64_t all = piece;
    piece = roundUp((all - 1) / threads + 1, getGrain(byRows));
    pieces = (all - 1) / piece + 1;
  }

  /// Gives `own`, a copy of the product `p`, the size of the piece that begins at row or column `begin`.
  void cut(MatmulProblem &own, const MatmulProblem &p, int64_t begin) const {
    (byRows ? own.m : own.n) = std::min(piece, (byRows ? p.m : p.n) - begin);
  }
};

/// A product on several threads. `Product` computes some of its rows and columns on one, with scratch memory of its
/// own, which no piece needs more of than the first.
template <typename Product> class DividedProduct {
public:
  DividedProduct(const MatmulProblem &problem, int threads)
      : problem(problem), threads(threads), division(problem, Product::getGrain, threads) {
    ofThread = static_cast<int64_t>(alignToLine(Product::getScratchBytes(getLargestPiece())));
  }

  /// Aligned to 64.
  size_t getScratchBytes() const { return threads * ofThread; }

  /// The pieces of all elements of the batch.
  int64_t getNumPieces() const { return division.batch * division.pieces; }
  bool hasPiecesOfRows() const { return division.byRows && division.pieces > 1; }
  MatmulProblem getLargestPiece() const {
    MatmulProblem first = problem;
    division.cut(first, problem, 0);
    return first;
  }

  /// Calls begin(product, number) before each piece.
  template <typename Fn>
  void run(const std::byte *lhs, const std::byte *rhs, std::byte *out, std::byte *scratch, Fn &&begin) {
    int64_t lhsSize = getSize(problem.lhsType), rhsSize = getSize(problem.rhsType), outSize = getSize(problem.outType);
    divide(isDivided(problem) ? threads : 1, getNumPieces(), 1, [&](int part, int64_t first, int64_t end) {
      MatmulProblem own = getLargestPiece();
      Product product(own, scratch + part * ofThread);
      for (int64_t at = first; at != end; ++at) {
        auto [l, r, o] = getOffsets(problem, at / division.pieces);
        int64_t from = at % division.pieces * division.piece;
        l += division.byRows ? from * problem.lhsRow : 0;
        r += division.byRows ? 0 : from * problem.rhsColumn;
        o += from * (division.byRows ? problem.outRow : problem.outColumn);
        division.cut(own, problem, from);
        begin(product, at);
        product.run(lhs + l * lhsSize, rhs + r * rhsSize, out + o * outSize);
      }
    });
  }

private:
  const MatmulProblem &problem;
  int threads;
  Division division;
  int64_t ofThread;
};

} // namespace meshwright::runtime

#endif
