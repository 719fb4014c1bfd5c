//===- CollectivesTest.cpp - collectives of compiler and runtime ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiler and runtime have enumerations and formulas of their own, because the runtime knows no MLIR. Holds them
// against each other by name and by number.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Collectives.h"
#include "lib/Emit/Enumerations.h"
#include "meshwright/runtime/Communicator.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace meshwright;
using dist::CollectiveKind;

namespace {

/// Calls `check` with every case of an enumeration and with its name.
template <typename Enum> void forEachCase(llvm::function_ref<void(Enum, llvm::StringRef)> check, unsigned last) {
  for (unsigned number = 0; number <= last; ++number)
    check(static_cast<Enum>(number), stringifyEnum(static_cast<Enum>(number)));
}

TEST(CollectivesTest, KindsHaveTheSameNames) {
  forEachCase<CollectiveKind>(
      [](CollectiveKind kind, llvm::StringRef name) { EXPECT_EQ(runtime::getName(emit::translate(kind)), name.str()); },
      dist::getMaxEnumValForCollectiveKind());
  EXPECT_EQ(Collective::Kind_ARRAYSIZE, static_cast<int>(dist::getMaxEnumValForCollectiveKind()) + 1);
}

TEST(CollectivesTest, OtherEnumerationsHaveTheSameNames) {
  forEachCase<dist::ReduceKind>(
      [](dist::ReduceKind kind, llvm::StringRef name) {
        EXPECT_EQ(Collective::Reduction_Name(emit::translate(kind)), name.upper());
      },
      dist::getMaxEnumValForReduceKind());
  forEachCase<net::VariableKind>(
      [](net::VariableKind kind, llvm::StringRef name) {
        EXPECT_EQ(Variable::Kind_Name(emit::translate(kind)), name.upper());
      },
      net::getMaxEnumValForVariableKind());
  forEachCase<net::InitializerKind>(
      [](net::InitializerKind kind, llvm::StringRef name) {
        EXPECT_EQ(Initializer::Kind_Name(emit::translate(kind)), name.upper());
      },
      net::getMaxEnumValForInitializerKind());
  EXPECT_EQ(Collective::Reduction_ARRAYSIZE, static_cast<int>(dist::getMaxEnumValForReduceKind()) + 1);
  EXPECT_EQ(Variable::Kind_ARRAYSIZE, static_cast<int>(net::getMaxEnumValForVariableKind()) + 1);
  EXPECT_EQ(Initializer::Kind_ARRAYSIZE, static_cast<int>(net::getMaxEnumValForInitializerKind()) + 1);
}

TEST(CollectivesTest, BytesAreThoseOfTheRuntime) {
  for (int64_t n : {1, 2, 3, 4, 7})
    forEachCase<CollectiveKind>(
        [&](CollectiveKind kind, llvm::StringRef name) {
          uint64_t bytes = 420;
          Collective::Kind of = emit::translate(kind);
          bool hasParts = runtime::hasOperandPerMember(of) || runtime::hasResultPerMember(of);
          double ofRuntime = runtime::getSentBytes(of, n, hasParts ? bytes / n : bytes);
          // The runtime says of a send what its root sends, not the mean.
          double mean = kind == CollectiveKind::Send ? ofRuntime / static_cast<double>(n) : ofRuntime;
          EXPECT_DOUBLE_EQ(dist::getSentBytes(kind, static_cast<double>(bytes), n), mean)
              << name.str() << " in a group of " << n;
        },
        dist::getMaxEnumValForCollectiveKind());
}

} // namespace
