//===- CollectivesTest.cpp - collectives of compiler and runtime ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiler and runtime have enumerations of their own, because the runtime knows no MLIR. Compares them by name and by
// number, and the bytes that both say a collective sends.
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

TEST(CollectivesTest, OtherEnumerationsHaveTheSameNames) {
  forEachCase<ReduceKind>(
      [](ReduceKind kind, llvm::StringRef name) {
        EXPECT_EQ(Collective::Reduction_Name(emit::translate(kind)), name.upper());
      },
      getMaxEnumValForReduceKind());
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
  EXPECT_EQ(Collective::Reduction_ARRAYSIZE, static_cast<int>(getMaxEnumValForReduceKind()) + 1);
  EXPECT_EQ(Variable::Kind_ARRAYSIZE, static_cast<int>(net::getMaxEnumValForVariableKind()) + 1);
  EXPECT_EQ(Initializer::Kind_ARRAYSIZE, static_cast<int>(net::getMaxEnumValForInitializerKind()) + 1);
}

TEST(CollectivesTest, BytesAreThoseOfTheRuntime) {
  for (int64_t n : {1, 2, 3, 4, 7})
    for (unsigned number = 0; number < kNumCollectives; ++number) {
      auto kind = static_cast<CollectiveKind>(number);
      uint64_t bytes = 420;
      Collective::Kind packaged = emit::translate(kind);
      bool hasPieces = runtime::hasOperandPerMember(packaged) || runtime::hasResultPerMember(packaged);
      double ofRuntime = runtime::getSentBytes(packaged, n, hasPieces ? bytes / n : bytes);
      // The runtime counts the bytes of the root of a send, not the mean.
      double mean = kind == CollectiveKind::Send ? ofRuntime / static_cast<double>(n) : ofRuntime;
      EXPECT_DOUBLE_EQ(dist::getSentBytes(kind, static_cast<double>(bytes), n), mean)
          << runtime::getName(packaged) << " in a group of " << n;
    }
}

} // namespace
