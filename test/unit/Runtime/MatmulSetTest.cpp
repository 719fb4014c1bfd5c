//===- MatmulSetTest.cpp - the products of a program ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of random shapes and strides in all types, against three loops in f64.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MatmulSet.h"
#include "meshwright/runtime/Package.h"
#include "test/unit/Random.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

void store(DType type, std::byte *to, double value) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
      *reinterpret_cast<T *>(to) = T(static_cast<float>(value));
    else
      *reinterpret_cast<T *>(to) =
          static_cast<T>(static_cast<int64_t>(value) == value ? static_cast<int64_t>(value) : value);
  });
}

/// Strides of an array whose dimensions lie in a random order in memory, with gaps.
std::vector<int64_t> makeStrides(Random &random, const std::vector<int64_t> &sizes, bool mayRepeat) {
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

struct Operand {
  DType type;
  std::vector<int64_t> sizes, strides;
  std::vector<std::byte> bytes;

  Operand(Random &random, DType type, std::vector<int64_t> sizes, bool mayRepeat)
      : type(type), sizes(std::move(sizes)), strides(makeStrides(random, this->sizes, mayRepeat)) {
    std::optional<uint64_t> last = getLastElement(this->sizes, strides);
    bytes.resize((last.value_or(0) + 1) * getSize(type));
    for (uint64_t i = 0; i != bytes.size(); i += getSize(type))
      store(type, &bytes[i], static_cast<double>(random.pick(isFloat(type) ? -8 : 0, 8)));
  }
  std::byte *at(const std::vector<int64_t> &index) {
    int64_t offset = 0;
    for (size_t i = 0; i != index.size(); ++i)
      offset += index[i] * strides[i];
    return &bytes[offset * getSize(type)];
  }
};

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
            sum +=
                loadAsDouble(lhs.type, lhs.at(join(index, i, p))) * loadAsDouble(rhs.type, rhs.at(join(index, p, j)));
          std::byte expected[8];
          store(out.type, expected, sum);
          ASSERT_EQ(loadAsDouble(out.type, out.at(join(index, i, j))), loadAsDouble(out.type, expected))
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

void run(Product &product) {
  auto set = MatmulSet::create();
  ASSERT_TRUE(set.ok());
  auto number = (*set)->prepare(product.matmul, product.lhs.bytes.data(), product.rhs.bytes.data(),
                                product.out.bytes.data(), "product");
  ASSERT_TRUE(number.ok()) << number.status().message();
  ASSERT_TRUE((*set)->finish().ok());
  ASSERT_TRUE((*set)->execute(*number).ok());
  product.check();
}

} // namespace

TEST(MatmulSet, RandomShapesAndStrides) {
  Random random;
  const std::vector<std::pair<DType, DType>> types = {{F32, F32}, {F64, F64}, {BF16, F32}, {BF16, BF16}, {F16, F32},
                                                      {F16, F16}, {I32, I32}, {I64, I64},  {U8, I32},    {F32, F64}};
  for (int round = 0; round != 200; ++round) {
    SCOPED_TRACE(random.describe(round));
    auto [type, outType] = random.choose(types);
    std::vector<int64_t> batch;
    for (int64_t n = random.pick(0, 2); n != 0; --n)
      batch.push_back(random.pick(1, 3));
    int64_t m = random.pick(1, 20), n = random.pick(1, 60), k = random.pick(1, 20);
    SCOPED_TRACE(fmt::format("{} to {}, {}x{}x{}, {} batch dimensions", runtime::getName(type),
                             runtime::getName(outType), m, n, k, batch.size()));
    Product product(random, type, outType, batch, m, n, k);
    run(product);
  }
}

TEST(MatmulSet, SizesBeyondOneBlock) {
  Random random;
  for (DType type : {F64, I64})
    for (auto [m, n, k] : {std::tuple(97, 1, 513), std::tuple(3, 1561, 5), std::tuple(101, 49, 257)}) {
      Product product(random, type, type, {}, m, n, k);
      run(product);
    }
}

TEST(MatmulSet, EmptySumsAreZero) {
  Random random;
  for (DType type : {F32, F64, I32}) {
    Product product(random, type, type, {}, 3, 4, 0);
    run(product);
  }
  Product none(random, F32, F32, {}, 0, 4, 3);
  run(none);
}

TEST(MatmulSet, SlowerPathsAreNamedOnce) {
  Random random;
  Product a(random, F64, F64, {}, 4, 4, 4), b(random, F64, F64, {}, 5, 4, 4), c(random, F32, F32, {}, 8, 8, 8);
  auto set = MatmulSet::create();
  ASSERT_TRUE(set.ok());
  for (auto [product, name] : {std::pair(&a, "first"), std::pair(&b, "second")})
    ASSERT_TRUE((*set)
                    ->prepare(product->matmul, product->lhs.bytes.data(), product->rhs.bytes.data(),
                              product->out.bytes.data(), name)
                    .ok());
  EXPECT_EQ((*set)->getWarnings(),
            (std::vector<std::string>{
                "oneDNN has no products of f64; the runtime's own loops compute \"first\" (2 in all, 2.9e-07 GFLOP)"}));
}
