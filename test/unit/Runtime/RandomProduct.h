//===- RandomProduct.h - products to compare with three loops ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_RANDOMPRODUCT_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_RANDOMPRODUCT_H

#include "meshwright/runtime/Package.h"
#include "test/unit/Random.h"
#include <cmath>
#include <gtest/gtest.h>

namespace meshwright::test {

inline void store(DType type, std::byte *to, double value) {
  runtime::dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, runtime::BFloat16> || std::is_same_v<T, runtime::Float16> ||
                  std::is_same_v<T, runtime::Residue>)
      *reinterpret_cast<T *>(to) = T(static_cast<float>(value));
    else
      *reinterpret_cast<T *>(to) =
          static_cast<T>(static_cast<int64_t>(value) == value ? static_cast<int64_t>(value) : value);
  });
}

/// Strides of an array whose dimensions lie in a random order in memory, with gaps.
inline std::vector<int64_t> makeStrides(Random &random, const std::vector<int64_t> &sizes, bool mayRepeat) {
  std::vector<size_t> order;
  for (size_t i = 0; i != sizes.size(); ++i)
    order.insert(order.begin() + random.pick(0, static_cast<int64_t>(i)), i);
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = random.chance(80) ? 1 : 3;
  for (size_t dim : order) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
    stride += random.chance(15) ? random.pick(1, 5) : 0;
  }
  for (size_t dim = 0; dim + 2 < sizes.size(); ++dim)
    if (mayRepeat && random.chance(25))
      strides[dim] = 0;
  return strides;
}

/// An array with gaps, of small integers.
struct Operand {
  DType type;
  std::vector<int64_t> sizes, strides;
  std::vector<std::byte> bytes;

  Operand(Random &random, DType type, std::vector<int64_t> sizes, bool mayRepeat)
      : Operand(random, type, sizes, makeStrides(random, sizes, mayRepeat)) {}
  Operand(Random &random, DType type, std::vector<int64_t> sizes, std::vector<int64_t> strides)
      : type(type), sizes(std::move(sizes)), strides(std::move(strides)) {
    std::optional<uint64_t> last = runtime::getLastElement(this->sizes, this->strides);
    bytes.resize((last.value_or(0) + 1) * runtime::getSize(type));
    for (uint64_t i = 0; i != bytes.size(); i += runtime::getSize(type))
      store(type, &bytes[i], static_cast<double>(random.pick(runtime::isFloat(type) ? -8 : 0, 8)));
  }
  std::byte *at(const std::vector<int64_t> &index) {
    int64_t offset = 0;
    for (size_t i = 0; i != index.size(); ++i)
      offset += index[i] * strides[i];
    return &bytes[offset * runtime::getSize(type)];
  }
};

/// A product and its operands.
struct Product {
  Matmul matmul;
  Operand lhs, rhs, out;

  Product(Random &random, DType type, DType outType, std::vector<int64_t> batch, int64_t m, int64_t n, int64_t k)
      : lhs(random, type, join(batch, m, k), true), rhs(random, type, join(batch, k, n), true),
        out(random, outType, join(batch, m, n), false) {
    matmul.set_lhs_dtype(type);
    matmul.set_rhs_dtype(type);
    matmul.set_out_dtype(outType);
    matmul.set_m(m);
    matmul.set_n(n);
    matmul.set_k(k);
    for (int64_t size : batch)
      matmul.add_batch(size);
    for (auto [operand, strides] :
         {std::pair(&lhs, matmul.mutable_lhs_strides()), std::pair(&rhs, matmul.mutable_rhs_strides()),
          std::pair(&out, matmul.mutable_out_strides())})
      strides->Assign(operand->strides.begin(), operand->strides.end());
  }

  static std::vector<int64_t> join(std::vector<int64_t> batch, int64_t rows, int64_t columns) {
    batch.push_back(rows);
    batch.push_back(columns);
    return batch;
  }

  /// Small integers: every sum is exact in f32, and in 16 bit once rounded.
  void check() {
    std::vector<int64_t> index(matmul.batch_size(), 0);
    while (true) {
      for (int64_t i = 0; i != matmul.m(); ++i)
        for (int64_t j = 0; j != matmul.n(); ++j) {
          double sum = 0;
          for (int64_t p = 0; p != matmul.k(); ++p)
            sum += runtime::loadAsDouble(lhs.type, lhs.at(join(index, i, p))) *
                   runtime::loadAsDouble(rhs.type, rhs.at(join(index, p, j)));
          std::byte expected[8];
          store(out.type, expected, sum);
          ASSERT_EQ(runtime::loadAsDouble(out.type, out.at(join(index, i, j))),
                    runtime::loadAsDouble(out.type, expected))
              << "row " << i << " column " << j;
        }
      size_t dim = index.size();
      while (dim-- != 0 && ++index[dim] == matmul.batch(static_cast<int>(dim)))
        index[dim] = 0;
      if (dim == static_cast<size_t>(-1))
        return;
    }
  }
};

} // namespace meshwright::test

#endif
