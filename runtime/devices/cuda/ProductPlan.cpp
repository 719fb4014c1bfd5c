//===- ProductPlan.cpp - products as calls of cuBLASLt --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes two dimensions of each operand a matrix that the library knows, and loops of the others: one becomes the batch
// of a call, the rest are unrolled to calls.
//
//===----------------------------------------------------------------------===//

#include "ProductPlan.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

namespace {

/// A dimension over which equal products are repeated, with its strides.
struct Loop {
  int64_t count, lhs, rhs, out;
};

/// Two dimensions of an operand.
struct Matrix {
  int64_t rows, columns, row, column;

  bool isColumnMajor() const { return (row == 1 || rows == 1) && (column >= rows || columns == 1); }
  bool isRowMajor() const { return (column == 1 || columns == 1) && (row >= columns || rows == 1); }
  bool isUsable() const { return isColumnMajor() || isRowMajor(); }
  /// Its transpose where `isSwapped`.
  StridedMatrix get(bool isSwapped, int64_t batch) const {
    bool isTransposed = !isColumnMajor();
    int64_t leading = isTransposed ? (rows == 1 ? columns : row) : (columns == 1 ? rows : column);
    return {isTransposed != isSwapped, leading, batch};
  }
};

class Planner {
public:
  explicit Planner(const MatmulProblem &problem)
      : p(problem), lhs{p.m, p.k, p.lhsRow, p.lhsColumn}, rhs{p.k, p.n, p.rhsRow, p.rhsColumn},
        out{p.m, p.n, p.outRow, p.outColumn} {
    for (size_t i = 0; i != p.batch.size(); ++i)
      loops.push_back({p.batch[i], p.lhsBatch[i], p.rhsBatch[i], p.outBatch[i]});
  }

  Result<ProductPlan> plan() {
    MW_TRY(checkTypes());
    bool isEmpty =
        p.m == 0 || p.n == 0 || std::any_of(loops.begin(), loops.end(), [](auto &l) { return l.count == 0; });
    if (isEmpty)
      return ProductPlan();
    if (p.k == 0)
      return inputError("the product sums over nothing, which cuBLASLt does not do");
    if (!lhs.isUsable())
      splitRows();
    if (!rhs.isUsable())
      splitColumns();
    if (!out.isUsable())
      out.rows < out.columns ? splitRows() : splitColumns();
    if (!lhs.isUsable() || !rhs.isUsable())
      return inputError("the product repeats its {} operand along the dimension that is summed, which cuBLASLt does "
                        "not do",
                        lhs.isUsable() ? "right" : "left");
    return makeCalls();
  }

private:
  Status checkTypes() const {
    bool isKnown = p.lhsType == p.rhsType && (p.lhsType == F64   ? p.outType == F64
                                              : p.lhsType == F32 ? p.outType == F32
                                                                 : isHalf(p.lhsType) && isHalfOrWider(p.outType));
    if (isKnown)
      return {};
    return inputError(
        "the product is of {} and {} to {}; cuBLASLt multiplies equal types, f64 to f64, f32 to f32, bf16 "
        "and f16 to themselves or f32",
        getName(p.lhsType), getName(p.rhsType), getName(p.outType));
  }
  static bool isHalf(DType type) { return type == BF16 || type == F16; }
  bool isHalfOrWider(DType type) const { return type == p.lhsType || type == F32; }

  void splitRows() {
    loops.push_back({out.rows, lhs.row, 0, out.row});
    lhs.rows = out.rows = 1;
  }
  void splitColumns() {
    loops.push_back({out.columns, 0, rhs.column, out.column});
    rhs.columns = out.columns = 1;
  }

  ProductPlan makeCalls() {
    // The last of equally long ones is the closest together in memory.
    Loop batch{1, 0, 0, 0};
    auto longest = std::max_element(loops.rbegin(), loops.rend(), [](auto &a, auto &b) { return a.count < b.count; });
    if (longest != loops.rend()) {
      batch = *longest;
      loops.erase(std::next(longest).base());
    }
    ProductPlan plan;
    // An `out` that is row-major is the transpose of what is computed, and so are the operands.
    plan.isSwapped = !out.isColumnMajor();
    LtShape &shape = plan.shape;
    shape = {p.lhsType, p.rhsType, p.outType, out.rows, out.columns, p.k, batch.count, {}, {}, {}, {}};
    shape.a = lhs.get(plan.isSwapped, batch.lhs);
    shape.b = rhs.get(plan.isSwapped, batch.rhs);
    shape.d = out.get(plan.isSwapped, batch.out);
    if (plan.isSwapped) {
      std::swap(shape.m, shape.n);
      std::swap(shape.a, shape.b);
    }
    plan.calls.push_back({});
    for (const Loop &loop : loops)
      repeat(plan.calls, loop);
    return plan;
  }

  static void repeat(std::vector<LtOffsets> &calls, const Loop &loop) {
    std::vector<LtOffsets> repeated;
    for (const LtOffsets &call : calls)
      for (int64_t i = 0; i != loop.count; ++i)
        repeated.push_back({call.lhs + i * loop.lhs, call.rhs + i * loop.rhs, call.out + i * loop.out});
    calls = std::move(repeated);
  }

  const MatmulProblem &p;
  Matrix lhs, rhs, out;
  std::vector<Loop> loops;
};

} // namespace

ProductPlan ProductPlan::join() const {
  ProductPlan joined = *this;
  joined.calls.clear();
  for (const LtOffsets &call : calls)
    for (int64_t i = 0; i != shape.batch; ++i) {
      int64_t a = i * shape.a.batch, b = i * shape.b.batch;
      joined.calls.push_back(
          {call.lhs + (isSwapped ? b : a), call.rhs + (isSwapped ? a : b), call.out + i * shape.d.batch});
    }
  joined.shape.batch = static_cast<int64_t>(joined.calls.size());
  joined.shape.a.batch = joined.shape.b.batch = joined.shape.d.batch = 0;
  joined.shape.epilogue = {};
  joined.shape.isByAddress = true;
  return joined;
}

Result<ProductPlan> cuda::planProduct(const MatmulProblem &problem) { return Planner(problem).plan(); }

std::optional<LtEpilogue> cuda::planEpilogue(const Matmul &matmul, const LtShape &shape) {
  /// Strides of columns of an auxiliary matrix, and of its batch, are multiples of this.
  constexpr int64_t auxGrain = 8;
  const Epilogue &epilogue = matmul.epilogue();
  bool isAlongColumns = *matmul.out_strides().rbegin() == 1;
  if (epilogue.has_bias() && shape.m != (isAlongColumns ? matmul.n() : matmul.m()))
    return std::nullopt;
  bool isOnGrain = shape.d.leading % auxGrain == 0 && (shape.batch == 1 || shape.d.batch % auxGrain == 0);
  if (epilogue.has_preactivation() && !isOnGrain)
    return std::nullopt;
  return LtEpilogue{epilogue.has_bias(), epilogue.activation() == Epilogue::GELU_TANH, epilogue.has_preactivation()};
}
