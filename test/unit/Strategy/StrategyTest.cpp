//===- StrategyTest.cpp - reading strategies ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;
using google::protobuf::Descriptor;

namespace {

class StrategyTest : public ::testing::Test {
protected:
  StrategyFile parse(StringRef text) {
    FailureOr<StrategyFile> file = StrategyFile::parse(text, "s.textproto", &context);
    EXPECT_TRUE(succeeded(file)) << text.str();
    return succeeded(file) ? *file : StrategyFile();
  }

  /// The line and column that `file` gives for a field.
  std::pair<unsigned, unsigned> locate(const StrategyFile &file, StringRef path) {
    auto loc = cast<FileLineColLoc>(file.getLoc(&context, path));
    EXPECT_EQ(loc.getFilename(), "s.textproto");
    return {loc.getLine(), loc.getColumn()};
  }

  /// What is said about `text` on so many ranks; empty if nothing is.
  std::string check(StringRef text, int64_t ranks = 0) {
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      said = diagnostic.str();
      return success();
    });
    StrategyFile file = parse(text);
    EXPECT_EQ(succeeded(file.check(ranks, &context)), said.empty());
    return said;
  }

  MLIRContext context;
};

/// Collects the names of all fields of `message` and of the messages in it.
void collectFields(const Descriptor *message, std::set<std::string> &names, std::set<const Descriptor *> &seen) {
  if (!seen.insert(message).second)
    return;
  for (int index = 0; index < message->field_count(); ++index) {
    names.insert(message->field(index)->name());
    if (const Descriptor *nested = message->field(index)->message_type())
      collectFields(nested, names, seen);
  }
}

} // namespace

// Tests that the template is a strategy, and that no field is missing from it: whoever adds a field describes it there.
TEST_F(StrategyTest, TemplateMentionsEveryField) {
  StringRef text = getTemplate();
  StrategyFile file = parse(text);
  EXPECT_TRUE(succeeded(file.check(0, &context)));
  std::set<std::string> names;
  std::set<const Descriptor *> seen;
  collectFields(Strategy::descriptor(), names, seen);
  EXPECT_GT(names.size(), 40u);
  for (const std::string &name : names)
    EXPECT_TRUE(text.contains(name)) << "the template does not mention " << name;
}

// Tests that a field that is left out has the default that its comment promises.
TEST_F(StrategyTest, Defaults) {
  StrategyFile file = parse("train { adamw { lr { constant: 0.1 } } }\n"
                            "tensor { axis: \"tp\" split { match: \"*\" dim: 1 } }\n"
                            "init { match: \"*\" normal {} }\n"
                            "model { batch { inputs: \"x\" } range { input: \"x\" max: 3 } }");
  const AdamW &adamw = file.get().train().adamw();
  EXPECT_EQ(adamw.beta1(), 0.9);
  EXPECT_EQ(adamw.beta2(), 0.999);
  EXPECT_EQ(adamw.eps(), 1e-8);
  EXPECT_EQ(adamw.weight_decay(), 0.01);
  EXPECT_EQ(file.get().tensor().split(0).groups(), 1);
  EXPECT_FALSE(file.get().tensor().sequence());
  EXPECT_EQ(file.get().init(0).normal().mean(), 0);
  EXPECT_EQ(file.get().init(0).normal().stddev(), 1);
  EXPECT_EQ(file.get().model().batch(0).dim(), 0);
  EXPECT_EQ(file.get().model().range(0).min(), 0);
}

// Tests that nothing at all is a strategy: one rank.
TEST_F(StrategyTest, EmptyIsOneRank) {
  EXPECT_EQ(check(""), "");
  EXPECT_EQ(parse("").getMesh().getNumRanks(), 1);
  EXPECT_EQ(StrategyFile().getMesh().getNumRanks(), 1);
}

// Tests that places are found of nested and repeated fields, and of what is around a field that is not there.
TEST_F(StrategyTest, Locations) {
  StrategyFile file = parse("mesh {\n"
                            "  axes { name: \"dp\" size: 2 }\n"
                            "  axes { name: \"tp\" size: 4 }\n"
                            "}\n"
                            "tensor { axis: \"tp\"\n"
                            "  split { match: \"a\" dim: 0 }\n"
                            "  split { match: \"b\" dim: 1\n"
                            "    groups: 3 } }\n"
                            "data { axes: \"dp\" axes: \"tp\" }\n");
  using Place = std::pair<unsigned, unsigned>;
  EXPECT_EQ(locate(file, "mesh"), Place(1, 1));
  EXPECT_EQ(locate(file, "mesh.axes[0]"), Place(2, 3));
  EXPECT_EQ(locate(file, "mesh.axes[1].size"), Place(3, 21));
  EXPECT_EQ(locate(file, "tensor.split[1].match"), Place(7, 11));
  EXPECT_EQ(locate(file, "tensor.split[1].groups"), Place(8, 5));
  EXPECT_EQ(locate(file, "data.axes[1]"), Place(9, 19));
  // Not there: the field around it, or the beginning.
  EXPECT_EQ(locate(file, "tensor.split[0].groups"), Place(6, 3));
  EXPECT_EQ(locate(file, "tensor.sequence"), Place(5, 1));
  EXPECT_EQ(locate(file, "train.adamw.beta1"), Place(1, 1));
  EXPECT_EQ(locate(file, "no.such.field"), Place(1, 1));
}

// Tests that one axis takes what the number of ranks leaves.
TEST_F(StrategyTest, RemainingRanks) {
  StrategyFile file = parse("mesh { axes { name: \"dp\" size: 0 } axes { name: \"tp\" size: 3 } }");
  ASSERT_TRUE(succeeded(file.check(12, &context)));
  EXPECT_EQ(file.getMesh().getSize(0), 4);
  EXPECT_EQ(file.getMesh().getNumRanks(), 12);
  EXPECT_EQ(check("mesh { axes { name: \"dp\" size: 0 } axes { name: \"tp\" size: 3 } }", 10),
            "10 ranks do not divide by the 3 of the axes beside \"dp\"");
  EXPECT_EQ(check("mesh { axes { name: \"dp\" size: 2 } }", 3),
            "the sizes of the mesh's axes multiply to 2 but --ranks is 3");
}

// Tests that numbers outside their range are refused, NaN included.
TEST_F(StrategyTest, NumbersOutOfRange) {
  EXPECT_EQ(check("train { momentum { momentum: 1.5 } }"), "train.momentum.momentum is 1.5; it lies in [0, 1)");
  EXPECT_EQ(check("train { adam { beta1: -0.5 } }"), "train.adam.beta1 is -0.5; it lies in [0, 1)");
  EXPECT_EQ(check("train { adamw { beta2: nan } }"), "train.adamw.beta2 is NaN; it lies in [0, 1)");
}
