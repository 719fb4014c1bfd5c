//===- NamesTest.cpp - names and scopes as users write them ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Names.h"
#include "gtest/gtest.h"

using namespace meshwright::importer;

TEST(Names, JoinPathsByDots) {
  EXPECT_EQ(getDottedName("p['transformer']['h']['0']['attn']['c_attn']['bias']"),
            "p.transformer.h.0.attn.c_attn.bias");
  EXPECT_EQ(getDottedName("params[0][1]"), "params.0.1");
  EXPECT_EQ(getDottedName("params['w1'].value"), "params.w1.value");
  EXPECT_EQ(getDottedName("opt_state[1][0].mu['wte']"), "opt_state.1.0.mu.wte");
  EXPECT_EQ(getDottedName("opt_state.inner_states['muon'].inner_state[0]"),
            "opt_state.inner_states.muon.inner_state.0");
  EXPECT_EQ(getDottedName("ids"), "ids");
}

TEST(Names, EscapeDotsInsideOfKeys) {
  EXPECT_EQ(getDottedName("p['a.b']['c']"), R"(p.a\.b.c)");
  EXPECT_EQ(getDottedName(R"(p["it's"])"), "p.it's");
  EXPECT_EQ(getDottedName(R"(p['it\'s'])"), "p.it's");
  EXPECT_EQ(getDottedName("p['a]b']"), "p.a]b");
  EXPECT_EQ(getDottedName("p[ 3 ]"), "p.3");
}

TEST(Names, SplitAtTheFirstDotBetweenComponents) {
  using Parts = std::pair<llvm::StringRef, llvm::StringRef>;
  EXPECT_EQ(splitComponent("a.b.c"), Parts("a", "b.c"));
  EXPECT_EQ(splitComponent(R"(a\.b.c)"), Parts(R"(a\.b)", "c"));
  EXPECT_EQ(splitComponent("a"), Parts("a", ""));
  EXPECT_EQ(splitComponent(R"(a\)"), Parts(R"(a\)", ""));
  EXPECT_EQ(splitComponent(""), Parts("", ""));
}

TEST(Names, TakeWhatIsNoPathAsOneComponent) {
  EXPECT_EQ(getDottedName("p['a"), "p['a");
  EXPECT_EQ(getDottedName("p['a'"), "p['a'");
  EXPECT_EQ(getDottedName("p[0]x"), "p[0]x");
  EXPECT_EQ(getDottedName("p..a"), R"(p\.\.a)");
  EXPECT_EQ(getDottedName("p["), "p[");
  EXPECT_EQ(getDottedName("['a']"), "['a']");
  EXPECT_EQ(getDottedName(R"(p['a\)"), R"(p['a\)");
}

TEST(Names, LeaveOutTheRootOfResults) {
  EXPECT_EQ(getResultName("result"), "result");
  EXPECT_EQ(getResultName("result[0]"), "0");
  EXPECT_EQ(getResultName("result[1]['layer0']['bias']"), "1.layer0.bias");
  EXPECT_EQ(getResultName("result['loss']"), "loss");
  EXPECT_EQ(getResultName("result.loss"), "loss");
  EXPECT_EQ(getResultName("results[0]"), "results.0");
  EXPECT_EQ(getResultName("result['a"), "result['a");
}

TEST(Names, KnowHowOldVersionsOfJaxCallResults) {
  EXPECT_EQ(getResultName(""), "result");
  EXPECT_EQ(getResultName("[0]"), "0");
  EXPECT_EQ(getResultName("[1]['layer0']['bias']"), "1.layer0.bias");
  EXPECT_EQ(getResultName("['a"), "['a");
}

TEST(Scopes, LeaveOutTheArgumentsOfPrimitives) {
  EXPECT_EQ(getScope("jit(f)/jit(main)/h/pjit[out_layouts=(None,) name=a/b keep=False]"), "h");
}

TEST(Scopes, KnowTheWholeWay) {
  EXPECT_TRUE(isWhole("jit(f)/jit(main)/h/add"));
  EXPECT_TRUE(isWhole("jit(f)/jit(main)/add"));
  EXPECT_FALSE(isWhole("jit(f)/h/jit(main)/add"));
  EXPECT_FALSE(isWhole("jit(main)/h/add"));
  EXPECT_FALSE(isWhole("h/add"));
}

TEST(Scopes, LeaveOutThePrimitiveAndCompilation) {
  EXPECT_EQ(getScope("jit(f)/transformer/h/3/attn/dot_general"), "transformer.h.3.attn");
  EXPECT_EQ(getScope("jit(f)/add"), "");
  EXPECT_EQ(getScope("add"), "");
  EXPECT_EQ(getScope(""), "");
  EXPECT_EQ(getScope("jit(<lambda>)/pjit(g)/mlp/add"), "mlp");
}

TEST(Scopes, SeeThroughTransformations) {
  EXPECT_EQ(getScope("jit(f)/jvp(Model)/h/0/tanh"), "Model.h.0");
  EXPECT_EQ(getScope("jit(f)/transpose(jvp(Model))/h/0/dot_general"), "Model.h.0");
  EXPECT_EQ(getScope("jit(f)/transpose(jvp())/add_any"), "");
  EXPECT_EQ(getScope("jit(f)/vmap(jvp(a))/b/c"), "a.b");
  EXPECT_EQ(getScope("jit(f)/jvp(jit(_take))/gather"), "");
}

TEST(Scopes, KeepWhatModulesAreCalled) {
  EXPECT_EQ(getScope("jit(f)/h/attn.setup/ge"), R"(h.attn\.setup)");
  EXPECT_EQ(getScope("jit(f)/attn/...qk,...kd->...qd/dot_general"), R"(attn.\.\.\.qk,\.\.\.kd->\.\.\.qd)");
  EXPECT_EQ(getScope("a)/b(/c"), "a).b(");
}

TEST(Scopes, KnowWhatDifferentiationMade) {
  EXPECT_TRUE(isTransposed("jit(f)/transpose(jvp(Model))/h/0/dot_general"));
  EXPECT_FALSE(isTransposed("jit(f)/jvp(Model)/h/0/transpose"));
  EXPECT_FALSE(isTransposed("transpose"));
}
