//===- WorkProfileTest.cpp - limits of work -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/WorkProfile.h"
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// 10 GB/s, and 100 GFLOP/s in f32.
const DeviceRates best{10e9, {{F32, 100e9}}};

/// Ten calls that take 10 ms.
WorkRow makeRow(double flops, double bytes, std::optional<DType> product = std::nullopt) {
  WorkRow row;
  row.calls = 10;
  row.seconds = 10e-3;
  row.flops = flops;
  row.bytes = bytes;
  row.product = product;
  return row;
}

/// A product at 40 GFLOP/s.
WorkRow makeProduct(double bytes) { return makeRow(0.4e9, bytes, F32); }

} // namespace

TEST(WorkProfile, FastWorkHasNoLimit) {
  EXPECT_EQ(makeRow(0.6e9, 0, F32).getLimit(best), WorkLimit::None);
  EXPECT_EQ(makeRow(0.59e9, 0, F32).getLimit(best), WorkLimit::Shape);
  EXPECT_EQ(makeRow(0, 0.06e9).getLimit(best), WorkLimit::None);
  EXPECT_EQ(makeRow(0, 0.059e9).getLimit(best), WorkLimit::Order);
}

TEST(WorkProfile, UnknownRatesSayNothing) {
  EXPECT_EQ(makeRow(1, 1, BF16).getLimit(best), WorkLimit::None);
  EXPECT_EQ(makeRow(1, 1).getLimit({}), WorkLimit::None);
}

TEST(WorkProfile, ProductsAreLimitedByMemoryCachesOrShape) {
  EXPECT_EQ(makeProduct(0.06e9).getLimit(best), WorkLimit::Memory);
  WorkRow row = makeProduct(0.05e9);
  EXPECT_EQ(row.getLimit(best), WorkLimit::Shape);
  row.aloneSeconds = 8e-3;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Cold);
  row.aloneSeconds = 8.1e-3;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Shape);
}

TEST(WorkProfile, KernelsAreLimitedByCachesOperationsOrOrder) {
  WorkRow row = makeRow(0.05e9, 0.05e9);
  EXPECT_EQ(row.getLimit(best), WorkLimit::Operations);
  row.flops /= 2;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Order);
  row.aloneSeconds = 1e-3;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Cold);
}

TEST(WorkProfile, ShortCallsAreTheirOverhead) {
  WorkRow row = makeRow(0, 1);
  row.calls = 990;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Order);
  row.calls = 1010;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Calls);
}

TEST(WorkProfile, CollectivesAndWaitsAreLimitedByRanks) {
  WorkRow row = makeRow(0, 1);
  row.isCollective = true;
  EXPECT_EQ(row.getLimit(best), WorkLimit::Ranks);
  row = makeRow(0, 0);
  row.isWait = true;
  EXPECT_EQ(row.getLimit({}), WorkLimit::Ranks);
}
