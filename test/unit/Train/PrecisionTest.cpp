//===- PrecisionTest.cpp - every operation states its precision -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Precision.h"
#include "dialects/Net/Net.h"
#include "meshwright/Rules/Rules.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;

TEST(Precision, IsStatedByEveryOperation) {
  DialectRegistry registry;
  registry.insert<net::NetDialect>();
  registerNetPrecisions(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  size_t operations = 0;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("net")) {
    ++operations;
    EXPECT_TRUE(name.hasInterface<net::PrecisionOpInterface>())
        << name.getStringRef().str() << " has no class in lib/Rules/Precision";
  }
  EXPECT_GT(operations, 70u);
}
