//===- GlobTest.cpp - patterns over dotted names --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Glob.h"
#include "gtest/gtest.h"
#include <string>

using meshwright::captureGlob;
using meshwright::fillGlob;
using meshwright::matchGlob;

TEST(Glob, TakesTextLiterally) {
  EXPECT_TRUE(matchGlob("p.wte.embedding", "p.wte.embedding"));
  EXPECT_FALSE(matchGlob("p.wte", "p.wte.embedding"));
  EXPECT_FALSE(matchGlob("p.wte.embedding", "p.wte"));
  EXPECT_FALSE(matchGlob("p.w[te]", "p.wt"));
  EXPECT_TRUE(matchGlob("", ""));
  EXPECT_FALSE(matchGlob("", "p"));
}

TEST(Glob, StarMatchesAnythingDotsIncluded) {
  EXPECT_TRUE(matchGlob("*.kernel", "p.transformer.h.0.attn.c_attn.kernel"));
  EXPECT_TRUE(matchGlob("p.*.kernel", "p.a.kernel"));
  EXPECT_FALSE(matchGlob("p.*.kernel", "p.kernel"));
  EXPECT_TRUE(matchGlob("*ln_*", "p.transformer.ln_f.scale"));
  EXPECT_TRUE(matchGlob("p*", "p"));
  EXPECT_TRUE(matchGlob("*", ""));
  EXPECT_FALSE(matchGlob("*.kernel", "p.kernel.mu"));
}

TEST(Glob, QuestionMarkMatchesWithinOneComponent) {
  EXPECT_TRUE(matchGlob("transformer.h.?", "transformer.h.11"));
  EXPECT_FALSE(matchGlob("transformer.h.?", "transformer.h.1.attn"));
  EXPECT_FALSE(matchGlob("transformer.h.?", "transformer.h."));
  EXPECT_TRUE(matchGlob("h.?.?.kernel", "h.0.c_attn.kernel"));
  EXPECT_TRUE(matchGlob("layer?.bias", "layer12.bias"));
  EXPECT_FALSE(matchGlob("layer?.bias", "layer.bias"));
}

TEST(Glob, EscapedDotsStayInsideComponents) {
  EXPECT_TRUE(matchGlob("p.?", R"(p.a\.b)"));
  EXPECT_TRUE(matchGlob(R"(p.a\.b)", R"(p.a\.b)"));
  EXPECT_FALSE(matchGlob("p.a.b", R"(p.a\.b)"));
  EXPECT_FALSE(matchGlob(R"(p.a\.b)", "p.a.b"));
  EXPECT_TRUE(matchGlob(R"(p.\*)", "p.*"));
  EXPECT_FALSE(matchGlob(R"(p.\*)", "p.x"));
}

TEST(Glob, ManyStarsTakeNoExponentialTime) {
  std::string glob, name(5000, 'a');
  for (int count = 0; count < 200; ++count)
    glob += "*a";
  EXPECT_TRUE(matchGlob(glob, name));
  EXPECT_FALSE(matchGlob(glob + "b", name));
}

TEST(Glob, CapturesAsLittleAsPossible) {
  using Captures = llvm::SmallVector<llvm::StringRef>;
  EXPECT_EQ(captureGlob("state.*", "state.mu.w"), Captures({"mu.w"}));
  EXPECT_EQ(captureGlob("*.*", "a.b.c"), Captures({"a", "b.c"}));
  EXPECT_EQ(captureGlob("h.?.*", "h.11.w"), Captures({"11", "w"}));
  EXPECT_EQ(captureGlob("*", ""), Captures({""}));
  EXPECT_EQ(captureGlob("a\\.b", "a\\.b"), Captures());
  EXPECT_EQ(captureGlob("h.?", "h."), std::nullopt);
  EXPECT_EQ(captureGlob("h.?", "h.1.w"), std::nullopt);
}

TEST(Glob, FillsInWhatWasCaptured) {
  EXPECT_EQ(fillGlob("0.*", {"mu.w"}), "0.mu.w");
  EXPECT_EQ(fillGlob("*.x.?", {"a", "b"}), "a.x.b");
  EXPECT_EQ(fillGlob("a\\.b", {}), "a\\.b");
  EXPECT_EQ(fillGlob("0.*", {}), std::nullopt);
  EXPECT_EQ(fillGlob("0", {"a"}), std::nullopt);
}
