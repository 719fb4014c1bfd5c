//===- CarriedStateTest.cpp - arguments that a step gives back ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Import/CarriedState.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace meshwright::importer;

namespace {

class CarriedStateTest : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Builder builder{&context};
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();

  /// Pairs of an argument and a result.
  using Pairs = std::set<std::pair<unsigned, unsigned>>;

  /// The results of the arguments, by name; `-` for those without one. Arguments are donated to the results of `heirs`.
  std::vector<std::string> pair(std::vector<Port> arguments, std::vector<Port> results, const Pairs &heirs = {},
                                const Pairs &elementwise = {}) {
    CarriedState state(arguments, results);
    std::vector<Donation> donated;
    for (unsigned argument = 0; argument < arguments.size(); ++argument)
      donated.push_back({argument});
    for (auto [argument, result] : heirs)
      donated[argument].result = result;
    ambiguous.clear();
    for (const AmbiguousTree &tree : state.pairDonated(
             donated, [&](unsigned argument, unsigned result) { return elementwise.contains({argument, result}); }))
      ambiguous.push_back(tree.root.str() + " as " + tree.proposal);
    written.clear();
    for (const WrittenState &state : state.findWritten())
      written.push_back(state.name + " of " + results[state.result].name.str());
    std::vector<std::string> names;
    for (unsigned argument = 0; argument < arguments.size(); ++argument)
      names.push_back(state.getResult(argument) ? results[*state.getResult(argument)].name.str() : "-");
    return names;
  }

  /// Trees with several fitting prefixes and the one that is proposed, and written state, of the last call.
  std::vector<std::string> ambiguous, written;
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(CarriedStateTest, TakesTheShortestPrefixOfATree) {
  EXPECT_EQ(pair({{"p.w", f32}, {"p.b", f32}, {"s.0.mu.w", f32}, {"s.0.mu.b", f32}, {"s.0.count", i32}},
                 {{"1.0.count", i32}, {"1.0.mu.b", f32}, {"1.0.mu.w", f32}, {"0.b", f32}, {"0.w", f32}}),
            Names({"0.w", "0.b", "1.0.mu.w", "1.0.mu.b", "1.0.count"}));
}

TEST_F(CarriedStateTest, TakesATreeAsAWhole) {
  // Results with only some of the paths, or with other types, are not the tree.
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

TEST_F(CarriedStateTest, LetsTheHeirOfMemoryDecideBetweenPrefixes) {
  std::vector<Port> arguments = {{"p.w", f32}, {"p.b", f32}, {"ema.w", f32}, {"ema.b", f32}};
  std::vector<Port> results = {{"0.b", f32}, {"0.w", f32}, {"1.b", f32}, {"1.w", f32}};
  Pairs all = {{0, 1}, {1, 0}, {2, 3}, {3, 2}};
  EXPECT_EQ(pair(arguments, results, all), Names({"0.w", "0.b", "1.w", "1.b"}));
  EXPECT_EQ(ambiguous, Names());
  // One tree is enough for the other one to follow.
  EXPECT_EQ(pair(arguments, results, {{2, 1}}), Names({"1.w", "1.b", "0.w", "0.b"}));
  // Memory that goes to two trees decides nothing.
  EXPECT_EQ(pair(arguments, results, {{0, 1}, {1, 2}}), Names({"-", "-", "-", "-"}));
  EXPECT_EQ(ambiguous, Names({"p as 0", "ema as 1"}));
}

TEST_F(CarriedStateTest, DoesNotBelieveMemoryAgainstTheComputation) {
  std::vector<Port> arguments = {{"p.w", f32}, {"ema.w", f32}}, results = {{"0.w", f32}, {"1.w", f32}};
  // The average is the first result: it is computed from both, the parameter from itself alone.
  Pairs computed = {{0, 0}, {0, 1}, {1, 0}};
  EXPECT_EQ(pair(arguments, results, {{0, 1}, {1, 0}}, computed), Names({"1.w", "0.w"}));
  // Exporters pair the first argument with the first result. The average decides, and the parameter follows.
  EXPECT_EQ(pair(arguments, results, {{1, 1}}, computed), Names({"-", "-"}));
  EXPECT_EQ(ambiguous, Names({"p as 1", "ema as 0"}));
}

TEST_F(CarriedStateTest, FindsStateThatIsWrittenAlone) {
  EXPECT_EQ(pair({{"s.count", i32}, {"s.mu.w", f32}, {"x", f32}},
                 {{"1.count", i32}, {"1.last", i32}, {"1.mu.w", f32}, {"loss", f32}}),
            Names({"1.count", "1.mu.w", "-"}));
  EXPECT_EQ(written, Names({"s.last of 1.last"}));
  // Beside a tree that is all of the results stand metrics.
  EXPECT_EQ(pair({{"s.w", f32}, {"s.b", f32}}, {{"w", f32}, {"b", f32}, {"loss", f32}}), Names({"w", "b"}));
  EXPECT_EQ(written, Names());
}

TEST_F(CarriedStateTest, SaysWhereATreeDiffers) {
  auto describe = [&](std::vector<Port> arguments, std::vector<Port> results) {
    CarriedState state(arguments, results);
    std::vector<Donation> donated;
    std::vector<unsigned> tree;
    for (unsigned argument = 0; argument < arguments.size(); ++argument) {
      donated.push_back({argument});
      tree.push_back(argument);
    }
    state.pairDonated(donated, [](unsigned, unsigned) { return false; });
    return state.describeObstacle(tree);
  };
  EXPECT_EQ(describe({{"p.w", f32}, {"p.b", f32}}, {{"0.w", f32}, {"0.b", i32}}),
            "p.b of 'f32' has result 0.b of 'i32'");
  EXPECT_EQ(describe({{"p.w", f32}, {"p.b", f32}}, {{"0.w", f32}, {"1.0.c", i32}}), "p.b of 'f32' has no result 0.b");
  EXPECT_EQ(describe({{"p.w", f32}}, {{"0.w", f32}, {"1.w", f32}}), "others fit as well as those below 0");
  EXPECT_EQ(describe({{"p.w", f32}}, {{"0.v", f32}}), "");
}

TEST_F(CarriedStateTest, PairsSingleArgumentsByTheirNames) {
  EXPECT_EQ(pair({{"step", i32}, {"rate", f32}}, {{"loss", f32}, {"step", i32}}), Names({"step", "-"}));
  // A result of another name is paired only if it takes over the memory and is computed elementwise from the argument.
  std::vector<Port> arguments = {{"w", f32}, {"x", f32}}, results = {{"0", f32}, {"1", f32}};
  EXPECT_EQ(pair(arguments, results, {{0, 0}, {1, 1}}, {{0, 0}}), Names({"0", "-"}));
  EXPECT_EQ(pair(arguments, results, {}, {{0, 0}}), Names({"-", "-"}));
}
