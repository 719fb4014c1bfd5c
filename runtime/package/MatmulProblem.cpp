//===- MatmulProblem.cpp - products in their normal form ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MatmulProblem.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

/// A dimension of size 1 gets the stride that makes the array look dense, which is what libraries have fast code for.
static void normalizeStrides(int64_t rows, int64_t columns, int64_t &row, int64_t &column) {
  if (columns == 1)
    column = row == 1 ? std::max<int64_t>(rows, 1) : 1;
  if (rows == 1)
    row = column == 1 ? std::max<int64_t>(columns, 1) : 1;
}

static void eraseBatch(MatmulProblem &p, size_t dim) {
  for (auto *values : {&p.batch, &p.lhsBatch, &p.rhsBatch, &p.outBatch})
    values->erase(values->begin() + dim);
}

/// Batch dimensions of size 1 go, neighbours that are one in all three arrays are joined, and one over which the right
/// operand is repeated becomes rows.
static void normalize(MatmulProblem &p) {
  for (size_t dim = p.batch.size(); dim-- != 0;)
    if (p.batch[dim] == 1)
      eraseBatch(p, dim);
  for (size_t dim = p.batch.size(); dim-- > 1;) {
    auto joins = [&](const std::vector<int64_t> &strides) { return strides[dim - 1] == strides[dim] * p.batch[dim]; };
    if (!joins(p.lhsBatch) || !joins(p.rhsBatch) || !joins(p.outBatch))
      continue;
    p.batch[dim - 1] *= p.batch[dim];
    for (auto *strides : {&p.lhsBatch, &p.rhsBatch, &p.outBatch})
      (*strides)[dim - 1] = (*strides)[dim];
    eraseBatch(p, dim);
  }
  normalizeStrides(p.m, p.k, p.lhsRow, p.lhsColumn);
  normalizeStrides(p.k, p.n, p.rhsRow, p.rhsColumn);
  normalizeStrides(p.m, p.n, p.outRow, p.outColumn);
  while (!p.batch.empty() && p.rhsBatch.back() == 0 && p.lhsBatch.back() == p.m * p.lhsRow &&
         p.outBatch.back() == p.m * p.outRow) {
    p.m *= p.batch.back();
    eraseBatch(p, p.batch.size() - 1);
  }
}

MatmulProblem meshwright::runtime::getProblem(const Matmul &matmul) {
  MatmulProblem p;
  p.lhsType = matmul.lhs_dtype();
  p.rhsType = matmul.rhs_dtype();
  p.outType = matmul.out_dtype();
  p.rounded = matmul.rounded_dtype();
  p.m = matmul.m();
  p.n = matmul.n();
  p.k = matmul.k();
  p.parts = matmul.parts();
  p.batch.assign(matmul.batch().begin(), matmul.batch().end());
  auto split = [](const auto &strides, std::vector<int64_t> &batch, int64_t &row, int64_t &column) {
    batch.assign(strides.begin(), strides.end() - 2);
    row = strides[strides.size() - 2];
    column = strides[strides.size() - 1];
  };
  split(matmul.lhs_strides(), p.lhsBatch, p.lhsRow, p.lhsColumn);
  split(matmul.rhs_strides(), p.rhsBatch, p.rhsRow, p.rhsColumn);
  split(matmul.out_strides(), p.outBatch, p.outRow, p.outColumn);
  normalize(p);
  return p;
}

std::vector<int64_t> meshwright::runtime::getKey(const MatmulProblem &p) {
  std::vector<int64_t> key = {p.lhsType, p.rhsType, p.outType,   p.m,      p.n,         p.k,         p.parts,
                              p.lhsRow,  p.rhsRow,  p.lhsColumn, p.outRow, p.rhsColumn, p.outColumn, p.rounded};
  for (auto *values : {&p.batch, &p.lhsBatch, &p.rhsBatch, &p.outBatch})
    key.insert(key.end(), values->begin(), values->end());
  return key;
}
