//===- MatmulSetTest.cpp - the products of a program ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of random shapes and strides in all types, against three loops in f64.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MatmulSet.h"
#include "RandomProduct.h"
#include <cfloat>
#include <functional>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

void compute(Product &product, int threads = 1) {
  auto set = MatmulSet::create(threads);
  ASSERT_TRUE(set.ok());
  auto number = (*set)->prepare(product.matmul, product.lhs.bytes.data(), product.rhs.bytes.data(),
                                product.out.bytes.data(), "product");
  ASSERT_TRUE(number.ok()) << number.status().message();
  ASSERT_TRUE((*set)->finish().ok());
  ASSERT_TRUE((*set)->execute(*number).ok());
}

void run(Product &product, int threads = 1) {
  ASSERT_NO_FATAL_FAILURE(compute(product, threads));
  product.check();
}

} // namespace

TEST(MatmulSet, RandomShapesAndStrides) {
  Random random;
  const std::vector<std::pair<DType, DType>> types = {{F32, F32}, {F64, F64}, {BF16, F32},       {BF16, BF16},
                                                      {F16, F32}, {F16, F16}, {I32, I32},        {I64, I64},
                                                      {U8, I32},  {F32, F64}, {RESIDUE, RESIDUE}};
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
  for (DType type : {F64, I64, RESIDUE})
    for (auto [m, n, k] : {std::tuple(97, 1, 513), std::tuple(3, 1561, 5), std::tuple(101, 49, 257)}) {
      Product product(random, type, type, {}, m, n, k);
      run(product);
    }
}

/// Sizes on both sides of those from which on rules and threads divide the work; some lines are 2 KiB long.
TEST(MatmulSet, SizesOfTraining) {
  Random random;
  for (int round = 0; round != 10; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t m = random.pick(round % 4 == 0 ? 1 : 60, 150), n = round % 3 == 0 ? 512 : random.pick(60, 300);
    int64_t k = random.pick(60, round % 5 == 0 ? 270 : 80);
    int threads = static_cast<int>(random.pick(1, 4));
    SCOPED_TRACE(fmt::format("{}x{}x{} on {} threads", m, n, k, threads));
    Product product(random, F32, F32, {}, m, n, k);
    run(product, threads);
  }
}

/// Long sums, few rows or columns, and any operands that may be read where they lie.
TEST(MatmulSet, ThreadsDoNotChangeBits) {
  Random random;
  for (int round = 0; round != 60; ++round) {
    SCOPED_TRACE(random.describe(round));
    auto pickSize = [&](int64_t most) { return random.pick(1, random.chance(40) ? 20 : most); };
    int64_t most = round % 6 == 0 ? 1100 : 250;
    int64_t m = pickSize(most), n = pickSize(most), k = pickSize(round % 4 == 0 ? 5000 : 600);
    std::vector<int64_t> batch(random.pick(0, 1), random.pick(1, 9));
    DType type = random.choose<DType>({F32, F32, BF16, F16, F64});
    SCOPED_TRACE(fmt::format("{} {}x{}x{}, {} batch dimensions", runtime::getName(type), m, n, k, batch.size()));
    Product product(random, type, random.choose<DType>({type, F32}), batch, m, n, k);
    for (Operand *operand : {&product.lhs, &product.rhs})
      for (uint64_t at = 0; at != operand->bytes.size(); at += getSize(type)) {
        auto value = static_cast<double>(random.pick(-1 << 20, 1 << 20)) / 131101;
        if (round % 5 == 0 && random.chance(1))
          value = random.choose<double>({INFINITY, -INFINITY, NAN, -0.0, 1e-40});
        store(type, &operand->bytes[at], value);
      }
    std::vector<std::byte> expected;
    for (int threads = 1; threads != 5; ++threads) {
      ASSERT_NO_FATAL_FAILURE(compute(product, threads));
      if (threads == 1)
        expected = product.out.bytes;
      ASSERT_TRUE(product.out.bytes == expected) << threads << " threads";
    }
  }
}

namespace {

float loadFloat(Operand &operand, int64_t row, int64_t column) {
  return static_cast<float>(loadAsDouble(operand.type, operand.at({row, column})));
}

void fill(Operand &operand, const std::function<float()> &pick) {
  for (uint64_t at = 0; at != operand.bytes.size(); at += sizeof(float))
    store(F32, &operand.bytes[at], pick());
}

} // namespace

/// Every sum is as near to that in f64 as one of f32 operations may be, at magnitudes from 2^-40 to 2^40 and above
/// 2^-126; and together they are no farther than a chain of fused multiply-adds.
TEST(MatmulSet, SumsOfFloatsAreAsNearAsThoseOfOneAfterTheOther) {
  Random random;
  double errors = 0, errorsOfChain = 0;
  for (int round = 0; round != 24; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t m = random.pick(30, 150), n = random.pick(30, 150), k = random.pick(20, round % 6 == 0 ? 3000 : 300);
    SCOPED_TRACE(fmt::format("{}x{}x{}", m, n, k));
    Product product(random, F32, F32, {}, m, n, k);
    int range = static_cast<int>(random.choose<int64_t>({0, 4, 40, 120}));
    auto pick = [&] {
      auto value = static_cast<float>(random.pick(-1 << 24, 1 << 24)) / static_cast<float>(1 << 24);
      return std::ldexp(value, static_cast<int>(random.pick(-range, std::min(range, 40))));
    };
    fill(product.lhs, pick);
    fill(product.rhs, pick);
    ASSERT_NO_FATAL_FAILURE(compute(product));
    for (int64_t i = 0; i < m; i += 1 + m / 16)
      for (int64_t j = 0; j < n; j += 1 + n / 16) {
        double sum = 0, magnitude = 0, flushed = 0;
        float chain = 0;
        for (int64_t p = 0; p != k; ++p) {
          float a = loadFloat(product.lhs, i, p), b = loadFloat(product.rhs, p, j);
          sum += static_cast<double>(a) * b;
          magnitude += std::abs(static_cast<double>(a) * b);
          flushed += std::ldexp(1.0 + std::abs(a) + std::abs(b), -126);
          chain = std::fma(a, b, chain);
        }
        double error = std::abs(loadFloat(product.out, i, j) - sum);
        ASSERT_LE(error, std::ldexp(static_cast<double>(k) + 1, -24) * magnitude + flushed) << i << ", " << j;
        if (magnitude > 0) {
          errors += error / magnitude;
          errorsOfChain += std::abs(chain - sum) / magnitude;
        }
      }
  }
  EXPECT_LE(errors, 1.05 * errorsOfChain);
}

/// NaN, infinities and numbers near the largest among others, with sums in f64 as the measure.
TEST(MatmulSet, SumsOfNumbersThatAreNotFinite) {
  Random random;
  for (int round = 0; round != 30; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t m = random.pick(40, 150), n = random.pick(40, 150), k = random.pick(32, 300);
    SCOPED_TRACE(fmt::format("{}x{}x{}", m, n, k));
    Product product(random, F32, F32, {}, m, n, k);
    const std::vector<float> special = {INFINITY,
                                        -INFINITY,
                                        NAN,
                                        -NAN,
                                        std::bit_cast<float>(0x7fffffff),
                                        std::bit_cast<float>(0xff800001),
                                        FLT_MAX,
                                        -FLT_MAX,
                                        3.39e38F,
                                        0.0F,
                                        -0.0F,
                                        1e-40F};
    auto pick = [&] {
      return random.pick(0, 3000) == 0 ? random.choose(special) : static_cast<float>(random.pick(-8, 8)) / 64.0F;
    };
    fill(product.lhs, pick);
    fill(product.rhs, pick);
    ASSERT_NO_FATAL_FAILURE(compute(product, static_cast<int>(random.pick(1, 3))));
    for (int64_t i = 0; i != m; ++i)
      for (int64_t j = 0; j != n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t p = 0; p != k; ++p) {
          double term = static_cast<double>(loadFloat(product.lhs, i, p)) * loadFloat(product.rhs, p, j);
          sum += term;
          magnitude += std::isfinite(term) ? std::abs(term) : 0;
        }
        float found = loadFloat(product.out, i, j);
        if (std::isnan(sum)) {
          ASSERT_TRUE(std::isnan(found)) << found << " at " << i << ", " << j;
        } else if (std::isinf(sum)) {
          ASSERT_EQ(found, sum) << i << ", " << j;
        } else if (magnitude < FLT_MAX) {
          ASSERT_LE(std::abs(found - sum), std::ldexp(k + 1.0, -24) * magnitude + 1e-30) << i << ", " << j;
        }
      }
  }
}

/// Products in a sequence that share right operands have the bits that they have alone. What the operands are of
/// changes on the way, and there are more of them than are kept.
TEST(MatmulSet, SharedOperandsDoNotChangeBits) {
  for (int64_t round = 0; round != 12; ++round) {
    Random random(static_cast<uint64_t>(round));
    SCOPED_TRACE(random.describe(round));
    auto pick = [&] { return static_cast<float>(random.pick(-1 << 20, 1 << 20)) / 131101.0F; };
    struct Item {
      Product product;
      /// The right operand before the product: several products have one place for it.
      std::vector<std::byte> rhs;
      size_t operand;
      uint64_t version;
    };
    size_t numOperands = random.pick(1, 7);
    std::vector<Product> operands;
    for (size_t i = 0; i != numOperands; ++i)
      operands.emplace_back(random, F32, F32, std::vector<int64_t>(random.chance(20), 3), 1, random.pick(30, 200),
                            random.pick(32, 300));
    std::vector<uint64_t> versions(numOperands, 0);
    uint64_t last = 0;
    std::vector<Item> items;
    for (int at = 0; at != 30; ++at) {
      size_t operand = random.pick(0, static_cast<int64_t>(numOperands) - 1);
      Product &shared = operands[operand];
      if (versions[operand] == 0 || random.chance(20)) {
        fill(shared.rhs, pick);
        versions[operand] = ++last;
      }
      std::vector<int64_t> batch(shared.matmul.batch().begin(), shared.matmul.batch().end());
      Product product(random, F32, F32, batch, random.pick(20, 200), shared.matmul.n(), shared.matmul.k());
      *product.matmul.mutable_rhs_strides() = shared.matmul.rhs_strides();
      fill(product.lhs, pick);
      items.push_back({std::move(product), shared.rhs.bytes, operand, random.chance(90) ? versions[operand] : 0});
    }
    std::vector<std::vector<std::byte>> expected;
    for (bool isShared : {false, true})
      for (int threads : {1, 2}) {
        auto set = MatmulSet::create(threads);
        std::vector<uint32_t> numbers;
        for (Item &item : items) {
          auto number = (*set)->prepare(item.product.matmul, item.product.lhs.bytes.data(),
                                        operands[item.operand].rhs.bytes.data(), item.product.out.bytes.data(),
                                        "product", isShared ? item.version : 0);
          ASSERT_TRUE(number.ok()) << number.status().message();
          numbers.push_back(*number);
        }
        ASSERT_TRUE((*set)->finish().ok());
        // Again, as in a second step.
        for (size_t i = 0; i != 2 * items.size(); ++i) {
          Item &item = items[i % items.size()];
          std::ranges::copy(item.rhs, operands[item.operand].rhs.bytes.begin());
          ASSERT_TRUE((*set)->execute(numbers[i % items.size()]).ok());
          if (expected.size() < items.size())
            expected.push_back(item.product.out.bytes);
          ASSERT_TRUE(item.product.out.bytes == expected[i % items.size()]) << "product " << i;
        }
      }
  }
}

TEST(MatmulSet, EmptySumsAreZero) {
  Random random;
  for (DType type : {F32, F64, I32, RESIDUE}) {
    Product product(random, type, type, {}, 3, 4, 0);
    run(product);
  }
  Product none(random, F32, F32, {}, 0, 4, 3);
  run(none);
}

/// Large residues, and infinities and NaN among them, against the sum one by one.
TEST(MatmulSet, Residues) {
  Random random;
  for (int round = 0; round != 60; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t m = random.pick(1, 80), n = random.pick(1, 80), k = random.pick(1, 700);
    Product product(random, RESIDUE, RESIDUE, {}, m, n, k);
    for (Operand *operand : {&product.lhs, &product.rhs})
      for (uint64_t at = 0; at != operand->bytes.size(); at += sizeof(Residue)) {
        Residue element =
            random.chance(20) ? Residue::fromBits(Residue::prime - 1) : hashToResidue(random.pick(0, 1 << 30));
        if (round % 3 == 0 && random.chance(1))
          element = random.chance(50) ? Residue::infinity(random.chance(50)) : Residue::nan();
        std::memcpy(&operand->bytes[at], &element, sizeof(element));
      }
    ASSERT_NO_FATAL_FAILURE(compute(product));
    auto load = [](Operand &operand, int64_t row, int64_t column) {
      Residue element;
      std::memcpy(&element, operand.at({row, column}), sizeof(element));
      return element;
    };
    for (int64_t i = 0; i != m; ++i)
      for (int64_t j = 0; j != n; ++j) {
        Residue sum(0);
        for (int64_t p = 0; p != k; ++p)
          sum += load(product.lhs, i, p) * load(product.rhs, p, j);
        ASSERT_EQ(load(product.out, i, j).getBits(), sum.getBits()) << i << ", " << j;
      }
  }
}

namespace {

/// `value`, rounded to `type`.
float roundTo(DType type, float value) {
  std::byte bytes[8];
  store(type, bytes, value);
  return static_cast<float>(loadAsDouble(type, bytes));
}

/// The sum of `parts` parts of products of neighbouring elements, by the definition: each part from its first term on,
/// in blocks of 256, and neighbours by a tree; every part and every sum of two is rounded to `type`. Parts are equally
/// long, and zeros fill up the last one.
float sumInParts(DType type, const std::vector<float> &lhs, const std::vector<float> &rhs, size_t begin, size_t end,
                 size_t parts) {
  if (parts > 1) {
    size_t middle = (begin + end) / 2;
    return roundTo(type, sumInParts(type, lhs, rhs, begin, middle, parts / 2) +
                             sumInParts(type, lhs, rhs, middle, end, parts / 2));
  }
  float sum = 0;
  for (size_t block = begin; block < end; block += 256) {
    float own = 0;
    for (size_t p = block; p < std::min(end, block + 256); ++p)
      own = std::fma(lhs[p], rhs[p], own);
    sum = block == begin ? own : sum + own;
  }
  return roundTo(type, sum);
}

} // namespace

/// Any rows and columns of a larger product have the bits that they have in it, and those of the definition; NaN and
/// infinities too.
TEST(MatmulSet, PartsHaveTheSameBitsInEveryShape) {
  Random random;
  for (int round = 0; round != 40; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t parts = int64_t(1) << random.pick(0, 3), length = random.pick(1, round % 8 == 0   ? 1500
                                                                             : round % 4 == 0 ? 600
                                                                                              : 40);
    // Some of the last part, or of several where parts are short, is missing.
    int64_t k = std::max(parts, length * parts - random.pick(0, 1) * random.pick(0, length));
    int64_t m = random.pick(1, 110), n = random.pick(1, 60);
    length = (k - 1) / parts + 1;
    DType type = random.choose<DType>({F32, BF16, F16});
    Product product(random, random.choose<DType>({F32, BF16}), type, {}, m, n, k);
    product.matmul.set_parts(parts);
    for (Operand *operand : {&product.lhs, &product.rhs})
      for (uint64_t at = 0; at != operand->bytes.size(); at += getSize(operand->type)) {
        auto value = static_cast<float>(random.pick(-1 << 20, 1 << 20)) / 131101.0F;
        // Not so many that all sums are NaN.
        if (round % 5 == 0 && random.chance(1))
          value =
              random.choose<float>({INFINITY, -INFINITY, NAN, std::bit_cast<float>(0x7fffffff), -0.0F, 3e38F, 1e-40F});
        store(operand->type, &operand->bytes[at], value);
      }
    auto set = MatmulSet::create();
    auto number = (*set)->prepare(product.matmul, product.lhs.bytes.data(), product.rhs.bytes.data(),
                                  product.out.bytes.data(), "product");
    ASSERT_TRUE(number.ok() && (*set)->finish().ok() && (*set)->execute(*number).ok());
    EXPECT_TRUE((*set)->getWarnings().empty());
    for (int64_t i = 0; i < m; i += 1 + m / 5)
      for (int64_t j = 0; j < n; j += 1 + n / 5) {
        std::vector<float> row(length * parts), column(length * parts);
        for (int64_t p = 0; p != k; ++p) {
          row[p] = loadFloat(product.lhs, i, p);
          column[p] = loadFloat(product.rhs, p, j);
        }
        float sum = loadFloat(product.out, i, j), expected = sumInParts(type, row, column, 0, length * parts, parts);
        ASSERT_TRUE(sum == expected || (std::isnan(sum) && std::isnan(expected)))
            << sum << " instead of " << expected << " at " << i << ", " << j;
      }
  }
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
