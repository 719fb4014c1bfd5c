//===- TensorTest.cpp - element types and conversions ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Tensor.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

TEST(DType, NamesAreParsedInBothSpellings) {
  for (DType type : {F32, F64, BF16, F16, I1, I8, I16, I32, I64, U8, U16, U32, U64}) {
    EXPECT_EQ(parseDType(runtime::getName(type)), type);
    EXPECT_EQ(parseDType(getSafeTensorsName(type)), type);
  }
  EXPECT_EQ(parseDType("f8"), std::nullopt);
  EXPECT_EQ(getSize(DTYPE_INVALID), 0u);
}

/// The nearest of all 65536 values, of two that are as near the one whose last bit is 0.
template <typename T> static uint16_t roundByHand(float value) {
  double best = std::numeric_limits<double>::infinity();
  uint16_t bits = 0;
  for (uint32_t i = 0; i != 65536; ++i) {
    T candidate;
    candidate.bits = static_cast<uint16_t>(i);
    float x = static_cast<float>(candidate);
    if (!std::isfinite(x) || std::signbit(x) != std::signbit(value))
      continue;
    double distance = std::fabs(static_cast<double>(x) - value);
    if (distance < best || (distance == best && i % 2 == 0)) {
      best = distance;
      bits = candidate.bits;
    }
  }
  return bits;
}

TEST(DType, SixteenBitFloatsRoundToNearestEven) {
  for (float value : {1.0f, -1.0f, 1.00390625f, 1.01171875f, 3.14159f, -2.7e-5f, 1e-7f, 65504.0f, 0.33333f, -1e3f}) {
    EXPECT_EQ(BFloat16(value).bits, roundByHand<BFloat16>(value)) << value;
    EXPECT_EQ(Float16(value).bits, roundByHand<Float16>(value)) << value;
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(static_cast<float>(BFloat16(std::numeric_limits<float>::max()))));
}

TEST(Tensor, ElementsAreCountedWithoutOverflow) {
  EXPECT_EQ(getNumElements(Shape{}), 1u);
  EXPECT_EQ(getNumElements(Shape{3, 0, 5}), 0u);
  EXPECT_EQ(getNumElements(Shape{1 << 20, 1 << 20}), uint64_t(1) << 40);
  EXPECT_EQ(getNumElements(Shape{int64_t(1) << 40, int64_t(1) << 40}), std::nullopt);
  EXPECT_EQ(getNumElements(Shape{int64_t(1) << 62, 0}), std::nullopt);
  EXPECT_EQ(getNumElements(Shape{2, -1}), std::nullopt);
}

TEST(Tensor, IntegersConvertWhereTheyFit) {
  Tensor from(I64, {3});
  from.as<int64_t>()[0] = 7;
  from.as<int64_t>()[1] = 255;
  from.as<int64_t>()[2] = 0;
  std::vector<std::byte> to(3);
  ASSERT_TRUE(convert(from.view(), U8, to).ok());
  EXPECT_EQ(static_cast<int>(to[1]), 255);
  EXPECT_EQ(convert(from.view(), I8, to).message(), "element 1 is 255 and does not fit i8");
  from.as<int64_t>()[1] = 2;
  EXPECT_EQ(convert(from.view(), I1, to).message(), "element 0 is 7 and does not fit i1");
  EXPECT_EQ(convert(from.view(), F32, to).message(), "f32 is wanted, but the data is i64");
}

TEST(Tensor, FiniteIsWhatEveryElementIs) {
  for (DType type : {F64, F32, BF16, F16, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E4M3}) {
    uint64_t size = getSize(type);
    // The bits of a byte pattern, placed at the ends of blocks and beside them.
    for (uint64_t count : {0, 1, 4095, 4096, 4097}) {
      std::vector<std::byte> bytes(count * size);
      EXPECT_EQ(classify(type, bytes), Finiteness::Finite);
      for (uint64_t place : {uint64_t(0), count / 2, count - 1})
        for (double value : {1.5, std::nan(""), -std::numeric_limits<double>::infinity()}) {
          if (count == 0)
            continue;
          dispatch(type, [&](auto zero) {
            using T = decltype(zero);
            T element = T(static_cast<float>(value));
            std::memcpy(bytes.data() + place * size, &element, size);
          });
          double stored = loadAsDouble(type, bytes.data() + place * size);
          EXPECT_EQ(classify(type, bytes), std::isnan(stored)   ? Finiteness::NotANumber
                                           : std::isinf(stored) ? Finiteness::Infinite
                                                                : Finiteness::Finite);
          std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(place * size), size, std::byte(0));
        }
    }
  }
  std::vector<std::byte> ones(64, std::byte(0xff));
  EXPECT_EQ(classify(I32, ones), Finiteness::Finite);
  EXPECT_EQ(classify(F32, ones), Finiteness::NotANumber);
}

TEST(Tensor, FloatsAreRoundedOnce) {
  // 1 + 2^-11 is a tie of f16, and what stands above it decides.
  for (auto [value, bits] : {std::pair(1 + 0x1p-11, 0x3c00), std::pair(1 + 0x1p-11 + 0x1p-40, 0x3c01),
                             std::pair(1 + 0x1p-10 + 0x1p-11 - 0x1p-40, 0x3c01), std::pair(65519.9999999, 0x7bff),
                             std::pair(-0.0, 0x8000), std::pair(0x1p-25, 0), std::pair(0x1p-25 + 0x1p-70, 1)}) {
    uint16_t found = 0xffff;
    EXPECT_TRUE(
        roundFloats(F64, std::as_bytes(std::span(&value, 1)), F16, std::as_writable_bytes(std::span(&found, 1))).ok());
    EXPECT_EQ(found, bits) << value;
  }
  double large = 1e300;
  uint16_t found;
  EXPECT_EQ(roundFloats(F64, std::as_bytes(std::span(&large, 1)), BF16, std::as_writable_bytes(std::span(&found, 1)))
                .message(),
            "element 0 is 1e+300, which is too large for bf16, as 1 of 1 elements are");
}
