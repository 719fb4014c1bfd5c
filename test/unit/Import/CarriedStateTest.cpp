//===- CarriedStateTest.cpp - arguments that a step gives back ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Import/CarriedState.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright::importer;

namespace {

class CarriedStateTest : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Builder builder{&context};
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();

  /// The results of the arguments, by name; `-` for those without one.
  std::vector<std::string> pair(std::vector<Port> arguments, std::vector<Port> results) {
    CarriedState state(arguments, results);
    std::vector<unsigned> donated(arguments.size());
    std::iota(donated.begin(), donated.end(), 0);
    state.pairDonated(donated);
    std::vector<std::string> names;
    for (unsigned argument : donated)
      names.push_back(state.getResult(argument) ? results[*state.getResult(argument)].name.str() : "-");
    return names;
  }
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(CarriedStateTest, TakesTheShortestPrefixOfATree) {
  EXPECT_EQ(pair({{"p.w", f32}, {"p.b", f32}, {"s.0.mu.w", f32}, {"s.0.mu.b", f32}, {"s.0.count", i32}},
                 {{"1.0.count", i32}, {"1.0.mu.b", f32}, {"1.0.mu.w", f32}, {"0.b", f32}, {"0.w", f32}}),
            Names({"0.w", "0.b", "1.0.mu.w", "1.0.mu.b", "1.0.count"}));
}

TEST_F(CarriedStateTest, TakesATreeAsAWhole) {
  // What has only a part of the paths, or other types, is not the tree.
  EXPECT_EQ(pair({{"p.w", f32}, {"p.b", f32}}, {{"0.w", f32}, {"1.x.w", f32}, {"1.x.b", f32}}),
            Names({"1.x.w", "1.x.b"}));
  EXPECT_EQ(pair({{"p.w", f32}, {"p.b", f32}}, {{"0.w", f32}, {"0.b", i32}}), Names({"-", "-"}));
}

TEST_F(CarriedStateTest, TakesAStateThatIsTheOnlyResult) {
  EXPECT_EQ(pair({{"state.params.w", f32}, {"state.step", i32}}, {{"params.w", f32}, {"step", i32}}),
            Names({"params.w", "step"}));
}

TEST_F(CarriedStateTest, DoesNotChooseBetweenPrefixesOfOneLength) {
  EXPECT_EQ(pair({{"p.w", f32}}, {{"0.w", f32}, {"1.w", f32}}), Names({"-"}));
  // A name of their own decides.
  EXPECT_EQ(pair({{"p.w", f32}, {"average.w", f32}}, {{"average.w", f32}, {"p.w", f32}}), Names({"p.w", "average.w"}));
}

TEST_F(CarriedStateTest, SaysWhereATreeDiffers) {
  auto describe = [&](std::vector<Port> arguments, std::vector<Port> results) {
    CarriedState state(arguments, results);
    std::vector<unsigned> donated(arguments.size());
    std::iota(donated.begin(), donated.end(), 0);
    state.pairDonated(donated);
    return state.describeObstacle(donated);
  };
  EXPECT_EQ(describe({{"p.w", f32}, {"p.b", f32}}, {{"0.w", f32}, {"0.b", i32}}),
            "p.b of 'f32' has result 0.b of 'i32'");
  EXPECT_EQ(describe({{"p.w", f32}, {"p.b", f32}}, {{"0.w", f32}, {"1.0.c", i32}}), "p.b of 'f32' has no result 0.b");
  EXPECT_EQ(describe({{"p.w", f32}}, {{"0.w", f32}, {"1.w", f32}}), "others fit as well as those below 0");
  EXPECT_EQ(describe({{"p.w", f32}}, {{"0.v", f32}}), "");
}

TEST_F(CarriedStateTest, PairsSingleArgumentsByTheirNames) {
  EXPECT_EQ(pair({{"step", i32}, {"rate", f32}}, {{"loss", f32}, {"step", i32}}), Names({"step", "-"}));
}
