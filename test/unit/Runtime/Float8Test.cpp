//===- Float8Test.cpp - floats of 8 bits beside ml_dtypes -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/fixtures/float8.safetensors says what ml_dtypes makes of all patterns of every type, and to what it rounds.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/SafeTensors.h"
#include "meshwright/runtime/Tensor.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;

static const std::map<DType, std::string> types = {
    {F8E4M3FN, "float8_e4m3fn"},     {F8E5M2, "float8_e5m2"}, {F8E4M3B11FNUZ, "float8_e4m3b11fnuz"},
    {F8E4M3FNUZ, "float8_e4m3fnuz"}, {F8E4M3, "float8_e4m3"}, {F8E5M2FNUZ, "float8_e5m2fnuz"},
    {F8E3M4, "float8_e3m4"}};

template <typename T> static std::vector<T> read(const SafeTensors &file, const std::string &name) {
  const TensorView *view = file.find(name);
  EXPECT_TRUE(view) << name;
  std::vector<T> values(view ? view->size() : 0);
  if (view)
    std::memcpy(values.data(), view->bytes.data(), view->bytes.size());
  return values;
}

TEST(Float8, AllPatternsAreThoseOfMlDtypes) {
  auto file = SafeTensors::open(MESHWRIGHT_FIXTURES "/float8.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  for (const auto &[type, name] : types) {
    std::vector<float> numbers = read<float>(*file, name + "_numbers");
    ASSERT_EQ(numbers.size(), 256u);
    for (unsigned i = 0; i != 256; ++i) {
      auto bits = static_cast<uint8_t>(i);
      double found = loadAsDouble(type, &bits);
      EXPECT_TRUE(found == numbers[i] || (std::isnan(found) && std::isnan(numbers[i]))) << name << " " << i;
      EXPECT_EQ(std::signbit(found), std::signbit(numbers[i]) || (std::isnan(found) && i >= 0x80)) << name << " " << i;
    }
  }
}

TEST(Float8, FloatsAreRoundedAsByMlDtypes) {
  auto file = SafeTensors::open(MESHWRIGHT_FIXTURES "/float8.safetensors");
  auto batch = SafeTensors::open(MESHWRIGHT_FIXTURES "/float8.batch.safetensors");
  ASSERT_TRUE(file.ok() && batch.ok());
  std::vector<float> x = read<float>(*batch, "x");
  for (const auto &[type, name] : types) {
    std::vector<uint8_t> rounded = read<uint8_t>(*file, name + "_rounded");
    ASSERT_EQ(rounded.size(), x.size());
    dispatch(type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (sizeof(T) == 1 && isNarrowFloat<T>)
        for (size_t i = 0; i != x.size(); ++i) {
          T value(x[i]);
          // The fixture has one pattern for all that are no numbers.
          uint8_t bits = std::isnan(static_cast<float>(value)) ? 0x7f : value.bits;
          EXPECT_EQ(bits, rounded[i]) << name << " of " << x[i];
        }
    });
  }
}

TEST(Float8, SumsBeginWithAZeroThatTheTypeHas) {
  for (const auto &[type, name] : types) {
    std::byte zero[2];
    fillNeutral(type, zero);
    EXPECT_EQ(loadAsDouble(type, zero), 0) << name;
  }
}

TEST(Float8, NamesAreThoseOfTheCompilerAndOfSafetensors) {
  for (const auto &[type, name] : types) {
    EXPECT_EQ(parseDType(runtime::getName(type)), type);
    EXPECT_EQ(parseDType(getSafeTensorsName(type)), type);
    EXPECT_TRUE(runtime::isFloat(type));
    EXPECT_EQ(runtime::getSize(type), 1u);
  }
  EXPECT_EQ(getSafeTensorsName(F8E4M3FN), "F8_E4M3");
}
