//===- CudaProductsTest.cpp - products as calls of cuBLASLt ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of random shapes and strides against three loops in f64. The stub refuses what cuBLASLt refuses.
//
//===----------------------------------------------------------------------===//

#include "BareDevice.h"
#include "devices/cuda/ProductPlan.h"
#include "test/unit/Runtime/RandomProduct.h"
#include <array>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

/// Computes the product with its operands as far from aligned as they may be.
Status run(Product &product) {
  BareDevice bare;
  Device &device = *bare.device;
  uint64_t end = 0;
  std::vector<uint64_t> offsets;
  for (const Operand *operand : {&product.lhs, &product.rhs, &product.out}) {
    end += runtime::getSize(operand->type);
    offsets.push_back(end);
    end += (operand->bytes.size() + 63) / 64 * 64;
  }
  MW_TRY(device.allocate(end, 0, 0));
  std::byte *arena = device.getArena(DEVICE);
  MW_TRY(device.write(arena + offsets[0], product.lhs.bytes));
  MW_TRY(device.write(arena + offsets[1], product.rhs.bytes));
  MW_TRY(device.write(arena + offsets[2], product.out.bytes));
  Instruction instruction;
  *instruction.mutable_matmul() = product.matmul;
  instruction.set_name("product");
  instruction.set_location("hand.mlir:1");
  MW_TRY_ASSIGN(uint32_t number,
                device.prepareMatmul(instruction, {arena + offsets[0], arena + offsets[1], arena + offsets[2]}));
  MW_TRY(device.finishPreparation());
  MW_TRY(device.multiply(number));
  MW_TRY(device.read(product.out.bytes, arena + offsets[2]));
  product.check();
  return {};
}

/// With the strides of the two dimensions of an operand, which has one element for each.
Product makeProduct(Random &random, std::pair<int64_t, int64_t> lhs, std::pair<int64_t, int64_t> rhs) {
  Product product(random, F32, F32, {}, 5, 6, 7);
  auto set = [](Operand &operand, auto *strides, std::pair<int64_t, int64_t> chosen) {
    operand.strides = {chosen.first, chosen.second};
    strides->Assign(operand.strides.begin(), operand.strides.end());
    operand.bytes.resize((*getLastElement(operand.sizes, operand.strides) + 1) * sizeof(float));
  };
  set(product.lhs, product.matmul.mutable_lhs_strides(), lhs);
  set(product.rhs, product.matmul.mutable_rhs_strides(), rhs);
  return product;
}

} // namespace

TEST(CudaProducts, RandomShapesAndStrides) {
  Random random;
  const std::vector<std::pair<DType, DType>> types = {{F32, F32},   {F64, F64}, {BF16, F32},
                                                      {BF16, BF16}, {F16, F32}, {F16, F16}};
  for (int round = 0; round != 150; ++round) {
    SCOPED_TRACE(random.describe(round));
    auto [type, outType] = random.choose(types);
    std::vector<int64_t> batch;
    for (int64_t n = random.pick(0, 3); n != 0; --n)
      batch.push_back(random.pick(1, 3));
    Product product(random, type, outType, batch, random.pick(1, 12), random.pick(1, 30), random.pick(1, 12));
    Status status = run(product);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

TEST(CudaProducts, OperandsAreRepeatedAlongWhatIsNotSummed) {
  Random random;
  Product rows = makeProduct(random, {0, 1}, {6, 1}), columns = makeProduct(random, {1, 5}, {1, 0});
  for (Product *product : {&rows, &columns}) {
    Status status = run(*product);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(CudaProducts, WhatCannotBeDoneIsSaid) {
  Random random;
  Product left = makeProduct(random, {1, 0}, {6, 1}), right = makeProduct(random, {7, 1}, {0, 1});
  EXPECT_EQ(run(left).message(), "\"product\" (hand.mlir:1): the product repeats its left operand along the dimension "
                                 "that is summed, which cuBLASLt does not do");
  EXPECT_EQ(run(right).message(), "\"product\" (hand.mlir:1): the product repeats its right operand along the "
                                  "dimension that is summed, which cuBLASLt does not do");
  Product integers(random, I32, I32, {}, 3, 4, 5), empty(random, F32, F32, {}, 3, 4, 0);
  EXPECT_EQ(run(integers).message(),
            "\"product\" (hand.mlir:1): the product is of i32 and i32 to i32; cuBLASLt multiplies equal types, f64 to "
            "f64, f32 to f32, bf16 and f16 to themselves or f32");
  EXPECT_EQ(run(empty).message(),
            "\"product\" (hand.mlir:1): the product sums over nothing, which cuBLASLt does not do");
}

TEST(CudaProducts, BatchesAreOneCallWhereTheyCanBe) {
  auto plan = [](std::vector<int64_t> batch, std::vector<int64_t> strides) {
    MatmulProblem problem{F32, F32, F32, DTYPE_INVALID, batch, strides, strides, strides, 4, 4, 4, 4, 1, 4, 1, 4, 1};
    return cuda::planProduct(problem)->calls.size();
  };
  EXPECT_EQ(plan({}, {}), 1u);
  EXPECT_EQ(plan({12}, {16}), 1u);
  // The longer of two becomes the batch.
  EXPECT_EQ(plan({2, 12}, {1000, 16}), 2u);
  EXPECT_EQ(plan({12, 2}, {1000, 16}), 2u);
  EXPECT_EQ(plan({0}, {16}), 0u);
  // All matrices of several dimensions are one call, if the library takes their addresses.
  MatmulProblem problem{F32, F32, F32, DTYPE_INVALID, {2, 3}, {100, 16}, {0, 16}, {48, 16}, 4, 4, 4, 4, 1, 4, 1, 4, 1};
  cuda::ProductPlan joined = cuda::planProduct(problem)->join();
  EXPECT_EQ(joined.shape.batch, 6);
  using Places = std::set<std::array<int64_t, 3>>;
  Places places;
  for (const cuda::LtOffsets &call : joined.calls)
    places.insert({call.lhs, call.rhs, call.out});
  EXPECT_EQ(places, (Places{{0, 0, 0}, {16, 16, 16}, {32, 32, 32}, {100, 0, 48}, {116, 16, 64}, {132, 32, 80}}));
}
