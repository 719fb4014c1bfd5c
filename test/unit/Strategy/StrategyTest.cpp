//===- StrategyTest.cpp - reading strategies ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that the printed template has every field of the schema, that defaults are those of the schema, and that every
// error in a strategy is located at its field.
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

  /// The errors about `text` on so many ranks; empty if there are none.
  std::string check(StringRef text, int64_t ranks = 0) {
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      said = diagnostic.str();
      return success();
    });
    StrategyFile file = parse(text);
    // For a graph that says nothing of a mesh.
    bool isRight = succeeded(file.check(ranks, &context)) && succeeded(file.adopt(nullptr, &context));
    EXPECT_EQ(isRight, said.empty());
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

// Tests that the template is a strategy, and that no field is missing from it, so that new fields are described there.
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
            "10 ranks cannot be divided by the 3 of the axes other than \"dp\"");
  EXPECT_EQ(check("mesh { axes { name: \"dp\" size: 2 } }", 3),
            "the sizes of the mesh's axes multiply to 2 but --ranks is 3");
}

// Tests that a topology orders the mesh's axes, and that it has to have each of them once.
TEST_F(StrategyTest, Topology) {
  std::string mesh =
      "mesh { axes { name: \"pp\" size: 2 } axes { name: \"dp\" size: 3 } axes { name: \"tp\" size: 4 } } ";
  StrategyFile file = parse(mesh + "topology { order: \" dp tp  pp \" ranks_per_node: 12 }");
  ASSERT_TRUE(succeeded(file.check(0, &context)));
  EXPECT_EQ(file.getMesh(), dist::Mesh({"pp", "tp", "dp"}, {2, 4, 3}));
  EXPECT_EQ(check(mesh + "topology { ranks_per_node: 64 }"), "");
  EXPECT_EQ(check(mesh + "topology { ranks_per_node: 7 }"), "24 ranks do not fill nodes of 7");
  EXPECT_EQ(check(mesh + "topology { ranks_per_node: -1 }"), "there are -1 ranks per node; there is at least 1");
  EXPECT_EQ(check(mesh + "topology { order: \"dp tp\" }"), "axis \"pp\" is not in the order, which has 2 of 3 axes");
  for (const char *order : {"dp tp dp pp", "dp tp pp zero"})
    EXPECT_EQ(check(mesh + "topology { order: \"" + order + "\" }"), std::string("the mesh has no axis \"") +
                                                                         (order[6] == 'd' ? "dp" : "zero") +
                                                                         "\", or the order gives it twice");
}

// Tests that numbers outside their range are refused, NaN included.
TEST_F(StrategyTest, NumbersOutOfRange) {
  EXPECT_EQ(check("train { momentum { momentum: 1.5 } }"), "train.momentum.momentum is 1.5; it lies in [0, 1)");
  EXPECT_EQ(check("train { adam { beta1: -0.5 } }"), "train.adam.beta1 is -0.5; it lies in [0, 1)");
  EXPECT_EQ(check("train { adamw { beta2: nan } }"), "train.adamw.beta2 is NaN; it lies in [0, 1)");
  EXPECT_EQ(check("train { lion { weight_decay: -1 } }"), "train.lion.weight_decay is -1; it is at least 0");
  EXPECT_EQ(check("train { adafactor { min_dim: 0 } }"), "train.adafactor.min_dim is 0; it is positive");
  EXPECT_EQ(check("train { sgd {} clip { value: -2 } }"), "train.clip.value is -2; it is positive");
  EXPECT_EQ(check("train { sgd {} ema { decay: 1 } }"), "train.ema.decay is 1; it lies in (0, 1)");
}

// Tests that what to compute again is chosen by the user or so that it fits, not both.
TEST_F(StrategyTest, Recompute) {
  auto withRecompute = [](StringRef text) { return "train { sgd {} recompute { " + text.str() + " } }"; };
  EXPECT_EQ(check(withRecompute("fit: 1000 repeat_conversions: true")), "");
  EXPECT_EQ(check(withRecompute("fit: 0")), "train.recompute.fit is 0; it is positive");
  EXPECT_EQ(check(withRecompute("fit: 9 policy: KEEP_CHEAP")),
            "train.recompute.policy chooses what to recompute, and so does fit; set only one of them");
  EXPECT_EQ(check(withRecompute("fit: 9 blocks: \"h.?\"")),
            "train.recompute.blocks[0] chooses what to recompute, and so does fit; set only one of them");
  EXPECT_EQ(check(withRecompute("anchors: \"a.out\"")),
            "train.recompute.anchors[0] has no second anchor; the operations between two anchors are recomputed");
}

// Tests the settings of groups of parameters: what their optimizer does not take is refused.
TEST_F(StrategyTest, ParameterGroups) {
  EXPECT_EQ(check("train { sgd {} group { lr_scale: 2 } }"),
            "train.group[0] has no match; it takes globs of parameters");
  EXPECT_EQ(check("train { sgd {} group { match: \"*\" weight_decay: 1 } }"),
            "train.group[0] has a weight_decay, but its optimizer takes none; l2 would do");
  EXPECT_EQ(check("train { group { match: \"*\" l2: 1 } }"),
            "train.group[0] has an l2, but its optimizer takes none; weight_decay would do");
  EXPECT_EQ(check("train { sgd {} group { match: \"a\" } group { match: \"*\" lion { beta1: 2 } } }"),
            "train.group[1].lion.beta1 is 2; it lies in [0, 1)");
  EXPECT_EQ(check("train { sgd {} group { match: \"*\" lr_scale: 0 } }"),
            "train.group[0].lr_scale is 0; it is positive");
  EXPECT_EQ(check("train { sgd {} group { match: \"*\" lion {} weight_decay: 1 } }"), "");
}

namespace {

/// A strategy with two data axes and a tensor axis; `zero` begins in line 3, column 1.
std::string withZero(StringRef zero, StringRef train = "train { sgd {} }") {
  return "mesh { axes { name: \"dp\" size: 2 } axes { name: \"sp\" size: 2 } axes { name: \"tp\" size: 2 } }\n"
         "data { axes: \"dp\" axes: \"sp\" } " +
         train.str() + "\n" + zero.str();
}

} // namespace

// Tests how many steps are accumulated, and that a sum which is reduced in every step needs something that keeps it
// reduced.
TEST_F(StrategyTest, GradientAccumulation) {
  StrategyFile file = parse("train { sgd {} gradient_accumulation { } }");
  EXPECT_EQ(file.get().train().gradient_accumulation().steps(), 1);
  EXPECT_TRUE(file.get().train().gradient_accumulation().average());
  EXPECT_EQ(file.get().train().gradient_accumulation().reduce(), GradientAccumulation::AT_UPDATE);
  EXPECT_EQ(check("train { sgd {} gradient_accumulation { steps: 4 average: false } }"), "");
  EXPECT_EQ(check("train { sgd {} gradient_accumulation { steps: 0 } }"),
            "train.gradient_accumulation.steps is 0; it is at least 1 and at most 65536");
  EXPECT_EQ(check("train { sgd {} gradient_accumulation { steps: 65537 } }"),
            "train.gradient_accumulation.steps is 65537; it is at least 1 and at most 65536");
  EXPECT_EQ(
      check("mesh { axes { name: \"accumulation\" size: 2 } } train { sgd {} gradient_accumulation { steps: 4 } }"),
      "axis \"accumulation\" has the name of the axis of train.gradient_accumulation.steps");
  EXPECT_EQ(check("mesh { axes { name: \"accumulation\" size: 2 } } train { sgd {} gradient_accumulation { } }"), "");
  std::string every = "train { sgd {} gradient_accumulation { steps: 4 reduce: EVERY_STEP } }";
  EXPECT_EQ(check(every),
            "train.gradient_accumulation.reduce is EVERY_STEP, which accumulates gradients where zero keeps them, but "
            "there is no zero; it needs stage 2 or 3");
  EXPECT_EQ(check(withZero("zero { axes: \"sp\" }", every)),
            "train.gradient_accumulation.reduce is EVERY_STEP, which accumulates gradients where zero keeps them, but "
            "zero.stage is "
            "1; it needs stage 2 or 3");
  EXPECT_EQ(check(withZero("zero { axes: \"sp\" stage: 2 }", every)), "");
}

namespace {

/// A strategy with an axis for a pipeline of four ranks, one for data and one for tensors.
std::string withPipeline(StringRef fields, StringRef rest = "train { sgd {} }") {
  return "mesh { axes { name: \"pp\" size: 4 } axes { name: \"dp\" size: 2 } axes { name: \"tp\" size: 2 } }\n"
         "model { batch { inputs: \"x\" } } data { axes: \"dp\" } tensor { axis: \"tp\" } " +
         rest.str() + "\npipeline { " + fields.str() + " }";
}

} // namespace

// Tests that the literature's names of schedules and fields are taken, and that errors keep the columns of the text.
TEST_F(StrategyTest, Aliases) {
  auto getSchedule = [&](StringRef name) {
    return parse(withPipeline("axis: \"pp\" schedule: " + name.str())).get().pipeline().schedule();
  };
  for (StringRef name : {"GPIPE", "gpipe", "\"GPipe\"", "FILL_DRAIN", "fill_drain"})
    EXPECT_EQ(getSchedule(name), Pipeline::FILL_DRAIN) << name.str();
  for (StringRef name : {"\"1F1B\"", "'1f1b'", "1F1B", "ONE_F_ONE_B"})
    EXPECT_EQ(getSchedule(name), Pipeline::ONE_F_ONE_B) << name.str();
  EXPECT_EQ(getSchedule("INTERLEAVED_1F1B"), Pipeline::INTERLEAVED);
  // Neither comments nor other strings have aliases.
  StrategyFile file = parse("train { # gradient_merge {\n gradient_merge { steps: 3 } }\n"
                            "fetch: \"gradient_merge\"");
  EXPECT_EQ(file.get().train().gradient_accumulation().steps(), 3);
  EXPECT_EQ(file.get().fetch(0), "gradient_merge");
  std::string text = "train { gradient_merge { steps: 3 } } data { axes: \"dp\" }";
  EXPECT_EQ(locate(parse(text), "data.axes[0]").second, text.find("axes") + 1);
}

// Tests the defaults of a pipeline, and that every name of a schedule is that of an order.
TEST_F(StrategyTest, PipelineDefaults) {
  StrategyFile file = parse(withPipeline("axis: \"pp\""));
  EXPECT_TRUE(succeeded(file.check(0, &context)));
  EXPECT_EQ(file.getSlices(), 1);
  EXPECT_EQ(file.getStageAxis(), "pp");
  FailureOr<schedule::TaskOrder> order = file.makeTaskOrder(&context);
  ASSERT_TRUE(succeeded(order));
  EXPECT_EQ(order->getNumStages(), 4);
  EXPECT_EQ(order->numMicroBatches, 1);
  EXPECT_EQ(file.get().pipeline().stages().balanced(), Stages::UNIFORM);
  EXPECT_EQ(Pipeline::Schedule_ARRAYSIZE, static_cast<int>(schedule::getOrderKinds().size()));
  for (int kind = 0; kind < Pipeline::Schedule_ARRAYSIZE; ++kind) {
    std::string name = Pipeline::Schedule_Name(kind);
    int64_t chunks = StringRef(name).starts_with("ZB_V") || name == "DUAL_PIPE_V" ? 2 : 1;
    EXPECT_EQ(
        check(withPipeline("axis: \"pp\" micro_batches: 8 schedule: " + name + " chunks: " + std::to_string(chunks))),
        "");
  }
}

// Tests that an axis of one rank is no pipeline.
TEST_F(StrategyTest, PipelineOfOneRank) {
  StrategyFile file = parse("mesh { axes { name: \"pp\" size: 1 } } model { batch { inputs: \"x\" } }\n"
                            "pipeline { axis: \"pp\" micro_batches: 3 schedule: DUAL_PIPE_V }");
  EXPECT_TRUE(succeeded(file.check(0, &context)));
  EXPECT_EQ(file.getStageAxis(), "");
  EXPECT_EQ(file.getSlices(), 3);
}

// Tests that the axis of a pipeline is one of the mesh that nothing else is split over.
TEST_F(StrategyTest, PipelineAxis) {
  EXPECT_EQ(check(withPipeline("axis: \"sp\"")), "the mesh has no axis \"sp\"");
  EXPECT_EQ(check(withPipeline("axis: \"dp\"")), "axis \"dp\" is also in data.axes");
  EXPECT_EQ(check(withPipeline("axis: \"tp\"")), "axis \"tp\" is also tensor.axis");
}

// Tests that micro-batches are slices of a batch, which one field says.
TEST_F(StrategyTest, PipelineMicroBatches) {
  EXPECT_EQ(check(withPipeline("axis: \"pp\" micro_batches: 0")),
            "pipeline.micro_batches is 0; it is at least 1 and at most 65536");
  EXPECT_EQ(
      check(withPipeline("axis: \"pp\" micro_batches: 8", "train { sgd {} gradient_accumulation { slices: 2 } }")),
      "pipeline splits the batch into 8 micro-batches and train.gradient_accumulation into 2 slices; set only one of "
      "them");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" micro_batches: 8", "train { sgd {} gradient_accumulation { steps: 2 } }")),
            "");
  EXPECT_EQ(check("mesh { axes { name: \"pp\" size: 2 } } train { sgd {} } pipeline { axis: \"pp\" micro_batches: 2 }"),
            "pipeline.micro_batches splits a batch; model.batch names the inputs and their batch dimension");
  EXPECT_EQ(
      check("mesh { axes { name: \"micro\" size: 2 } } train { sgd {} } pipeline { axis: \"micro\" micro_batches: 2 }"),
      "axis \"micro\" has the name of the axis of pipeline.micro_batches");
}

// Tests that there is an order for what is asked for, and that one field says which.
TEST_F(StrategyTest, PipelineOrder) {
  EXPECT_EQ(check(withPipeline("axis: \"pp\"", "")), "");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" chunks: 2")), "one_f_one_b has 1 chunk per rank, not 2");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" micro_batches: 4 chunks: 2 schedule: DUAL_PIPE_V")),
            "dual_pipe_v has at least 2 micro-batches per rank, 8 for 4 ranks, not 4");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" order: \"o.csv\" chunks: 2")),
            "pipeline has both chunks and order; the file says it all");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" group: 2")),
            "pipeline.group is about INTERLEAVED, but pipeline.schedule is ONE_F_ONE_B");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" group: 2 chunks: 2 micro_batches: 8 schedule: INTERLEAVED")), "");
}

// Tests that the network is cut in one way.
TEST_F(StrategyTest, PipelineStages) {
  EXPECT_EQ(check(withPipeline("axis: \"pp\" stages { balanced: COST max_megabytes: 8 }")), "");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" stages { balanced: COST match: \"a\" }")),
            "pipeline.stages has both balanced and match; it takes one of them");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" stages { ends_with: \"a\" match: \"a\" }")),
            "pipeline.stages has both ends_with and match; it takes one of them");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" stages { max_megabytes: 8 }")),
            "pipeline.stages.max_megabytes bounds stages of the same cost, but balanced is UNIFORM; it needs COST");
  EXPECT_EQ(check(withPipeline("axis: \"pp\" stages { balanced: COST max_megabytes: 0 }")),
            "pipeline.stages.max_megabytes is 0; it is positive");
}

// Tests the defaults of sharded data parallelism, and that a group of one rank is legal.
TEST_F(StrategyTest, ZeroDefaults) {
  StrategyFile file = parse(withZero("zero { axes: \"sp\" }"));
  EXPECT_TRUE(succeeded(file.check(0, &context)));
  const Zero &zero = file.get().zero();
  EXPECT_EQ(zero.stage(), 1);
  EXPECT_EQ(zero.ownership(), Zero::SLICES);
  EXPECT_EQ(zero.order(), Zero::BALANCED);
  EXPECT_EQ(zero.prefetch(), 1);
  EXPECT_EQ(zero.bucket_megabytes(), 32);
  EXPECT_EQ(zero.max_in_flight(), 8);
  EXPECT_EQ(zero.keep_within_megabytes(), 0);
  EXPECT_EQ(zero.persist_below_kilobytes(), 0);
  EXPECT_FALSE(zero.has_max_live_megabytes());
  EXPECT_EQ(file.get().reduce().scale(), Reduce::LOSS);
  EXPECT_EQ(file.get().reduce().communicate(), Reduce::GRADIENT);
  EXPECT_EQ(
      check("mesh { axes { name: \"dp\" size: 1 } } data { axes: \"dp\" } train { sgd {} } zero { axes: \"dp\" }"), "");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 3 }", "")), "");
}

// Tests that reproducible refuses meshes that do not divide its parts, and slices, whose sums are no tree.
TEST_F(StrategyTest, Reproducible) {
  auto with = [](const std::string &size, const std::string &rest) {
    return "mesh { axes { name: \"dp\" size: " + size +
           " } } data { axes: \"dp\" } model { batch { inputs: \"x\" } } " + rest;
  };
  EXPECT_EQ(check(with("8", "train { sgd {} } reproducible {}")), "");
  EXPECT_EQ(check(with("2", "train { sgd {} gradient_accumulation { steps: 2 } } reproducible { parts: 2 }")), "");
  EXPECT_EQ(check(with("2", "train { sgd {} } reproducible { parts: 6 }")),
            "reproducible.parts is 6; it is a power of two from 2 to 1024");
  EXPECT_EQ(check(with("2", "train { sgd {} } reproducible { parts: 1 }")),
            "reproducible.parts is 1; it is a power of two from 2 to 1024");
  EXPECT_EQ(check(with("3", "train { sgd {} } reproducible {}")),
            "the batch is split among 3 ranks, which do not divide the 8 parts of reproducible");
  EXPECT_EQ(check(with("16", "train { sgd {} } reproducible {}")),
            "the batch is split among 16 ranks, which do not divide the 8 parts of reproducible");
  EXPECT_EQ(check(with("2", "train { sgd {} gradient_accumulation { slices: 4 } } reproducible {}")), "");
  EXPECT_EQ(check(with("2", "train { sgd {} gradient_accumulation { slices: 8 } } reproducible {}")),
            "the batch of a rank is split into 8 slices, which do not divide its 4 parts of reproducible");
  EXPECT_EQ(check(with("1", "train { sgd {} gradient_accumulation { slices: 3 } } reproducible {}")),
            "the batch of a rank is split into 3 slices, which do not divide its 8 parts of reproducible");
  EXPECT_EQ(check(with("2", "zero { axes: \"dp\" stage: 2 } reproducible {} train { sgd {} gradient_accumulation { "
                            "slices: 2 reduce: EVERY_STEP } }")),
            "train.gradient_accumulation.reduce is EVERY_STEP, which adds the sums of ranks before those of their "
            "slices; reproducible adds slices first, so it needs AT_UPDATE");
}

// Tests that the axes of zero are some of those that data is split over.
TEST_F(StrategyTest, ZeroAxes) {
  EXPECT_EQ(check(withZero("zero { axes: \"xp\" }")), "the mesh has no axis \"xp\"");
  EXPECT_EQ(check(withZero("zero { axes: \"tp\" }")), "axis \"tp\" is not among data.axes");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" axes: \"dp\" }")), "axis \"dp\" is given twice in zero.axes");
  EXPECT_EQ(check(withZero("zero { stage: 2 }")), "zero has no axes; it takes some of data.axes");
  EXPECT_EQ(check("mesh { axes { name: \"dp\" size: 2 } } train { sgd {} } zero { axes: \"dp\" }"),
            "zero shards over some of data.axes, but there are none");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 3 backward_axes: \"sp\" }")),
            "axis \"sp\" is not among zero.axes");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 3 backward_axes: \"dp\" backward_axes: \"dp\" }")),
            "axis \"dp\" is given twice in zero.backward_axes");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 3 ownership: WHOLE backward_axes: \"dp\" }")),
            "zero.backward_axes gathers slices, but ownership is WHOLE; it needs SLICES");
}

// Tests that there are three stages and that what is about fetching parameters is refused before the third.
TEST_F(StrategyTest, ZeroStages) {
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 4 }")), "zero.stage is 4; stages are 1, 2 and 3");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 0 }", "")), "zero.stage is 0; stages are 1, 2 and 3");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" order: IN_ORDER }")),
            "zero.order chooses owners, but ownership is SLICES; it needs WHOLE");
  EXPECT_EQ(check(withZero("zero { axes: \"dp\" order: IN_ORDER ownership: WHOLE }")), "");
  std::pair<std::string, std::string> fields[] = {{"segment", "{ megabytes: 1 }"},
                                                  {"prefetch", ": 0"},
                                                  {"keep_within_megabytes", ": 1"},
                                                  {"max_live_megabytes", ": 1"},
                                                  {"persist_below_kilobytes", ": 1"},
                                                  {"backward_axes", ": \"dp\""},
                                                  {"keep", ": STEP"}};
  for (const auto &[name, value] : fields) {
    EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 3 " + name + value + " }")), "");
    EXPECT_EQ(check(withZero("zero { axes: \"dp\" stage: 2 " + name + value + " }")),
              "zero." + name + " is about fetching parameters and needs stage 3, but zero.stage is 2");
  }
}

// Tests that one field says how long fetched parameters are kept, or both the same, and that nothing else bounds them
// where that is the whole step.
TEST_F(StrategyTest, ZeroKeep) {
  auto withKeep = [&](const std::string &fields, const std::string &pipeline) {
    return check("mesh { axes { name: \"pp\" size: 2 } axes { name: \"dp\" size: 2 } } data { axes: \"dp\" }\n"
                 "train { sgd {} } zero { axes: \"dp\" stage: 3 " +
                 fields + " } pipeline { axis: \"pp\" " + pipeline + " }");
  };
  EXPECT_EQ(withKeep("keep: STEP", ""), "");
  EXPECT_EQ(withKeep("", "keep: STEP"), "");
  EXPECT_EQ(withKeep("keep: STEP", "keep: STEP"), "");
  EXPECT_EQ(withKeep("keep: USE", "keep: TASK"), "");
  EXPECT_EQ(withKeep("keep: STEP", "keep: TASK"), "zero.keep is STEP but pipeline.keep is TASK; set only one of them");
  EXPECT_EQ(withKeep("keep: USE", "keep: STEP"), "zero.keep is USE but pipeline.keep is STEP; set only one of them");
  EXPECT_EQ(
      withKeep("keep: STEP max_live_megabytes: 1", ""),
      "zero.max_live_megabytes bounds fetched parameters that are alive, but zero.keep is STEP, which keeps all of "
      "them; leave one of the two out");
  EXPECT_EQ(withKeep("keep_within_megabytes: 1", "keep: STEP"),
            "zero.keep_within_megabytes lets go of fetched parameters, but pipeline.keep is STEP, which keeps all of "
            "them; leave one of the two out");
  EXPECT_EQ(
      withKeep("keep: STEP backward_axes: \"dp\"", ""),
      "zero.backward_axes fetches for backward again, but zero.keep is STEP, which keeps all of them; leave one of "
      "the two out");
}

// Tests that segments are cut one way, and that no threshold is zero, negative or not a number.
TEST_F(StrategyTest, ZeroNumbers) {
  auto atStage3 = [&](const std::string &fields) {
    return check(withZero("zero { axes: \"dp\" stage: 3 " + fields + " }"));
  };
  EXPECT_EQ(atStage3("segment { megabytes: 1 anchors: \"a\" }"),
            "zero.segment has both megabytes and anchors; it takes one of them");
  EXPECT_EQ(atStage3("segment { anchors: \"a\" anchors: \"b\" anchors: \"a\" }"),
            "anchor \"a\" is given twice in zero.segment");
  EXPECT_EQ(atStage3("segment { megabytes: 0 }"), "zero.segment.megabytes is 0; it is positive");
  EXPECT_EQ(atStage3("segment { megabytes: -1 }"), "zero.segment.megabytes is -1; it is positive");
  EXPECT_EQ(atStage3("segment { megabytes: nan }"), "zero.segment.megabytes is NaN; it is positive");
  EXPECT_EQ(atStage3("bucket_megabytes: inf"), "zero.bucket_megabytes is +Inf; it is positive");
  EXPECT_EQ(atStage3("max_live_megabytes: 0"), "zero.max_live_megabytes is 0; it is positive");
  EXPECT_EQ(atStage3("keep_within_megabytes: -0.5"), "zero.keep_within_megabytes is -0.5; it is at least 0");
  EXPECT_EQ(atStage3("persist_below_kilobytes: nan"), "zero.persist_below_kilobytes is NaN; it is at least 0");
  EXPECT_EQ(atStage3("prefetch: -1"), "zero.prefetch is -1; it is at least 0");
  EXPECT_EQ(atStage3("max_in_flight: 0"), "zero.max_in_flight is 0; it is at least 1");
}

// Tests that complaints stand at the field they are about.
TEST_F(StrategyTest, ZeroLocations) {
  std::pair<std::string, unsigned> texts[] = {{"zero { axes: \"dp\" axes: \"tp\" }", 19},
                                              {"zero { axes: \"dp\" stage: 7 }", 19},
                                              {"zero { axes: \"dp\" prefetch: 2 }", 19},
                                              {"zero { axes: \"dp\" stage: 3 segment { megabytes: 0 } }", 38},
                                              {"zero { axes: \"dp\" bucket_megabytes: 0 }", 19},
                                              {"reduce { scale: AFTER } zero { }", 25}};
  for (const auto &[text, column] : texts) {
    Location loc = UnknownLoc::get(&context);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      loc = diagnostic.getLocation();
      return success();
    });
    EXPECT_TRUE(failed(parse(withZero(text)).check(0, &context)));
    EXPECT_EQ(loc, Location(FileLineColLoc::get(&context, "s.textproto", 3, column))) << text;
  }
}

// Tests that a bound on the norm is positive, and that how gradients are reduced needs gradients and axes.
TEST_F(StrategyTest, ClipAndReduce) {
  EXPECT_EQ(check("train { sgd {} clip { global_norm: 0 } }"), "train.clip.global_norm is 0; it is positive");
  EXPECT_EQ(check("train { sgd {} clip { global_norm: nan } }"), "train.clip.global_norm is NaN; it is positive");
  EXPECT_EQ(check("train { sgd {} clip { global_norm: 0.5 } }"), "");
  EXPECT_EQ(check("train { sgd {} clip { } }"), "");
  EXPECT_EQ(check("train { sgd {} } reduce { scale: AFTER }"), "reduce is about data.axes, but there are none");
  EXPECT_EQ(check(withZero("reduce { communicate: F16 }", "")),
            "reduce is about the gradients that train computes, but there is no train");
  EXPECT_EQ(check(withZero("reduce { scale: BEFORE communicate: BF16 }")), "");
}

// Tests that what is offloaded is named, and by how much copies may be ahead.
TEST_F(StrategyTest, OffloadNumbers) {
  auto withOffload = [&](const std::string &fields) { return check("offload { match: \"adamw.*\" " + fields + " }"); };
  EXPECT_EQ(withOffload("prefetch: 0 max_live_megabytes: 0.5 max_in_flight: 1"), "");
  EXPECT_EQ(check("offload { }"), "offload has no match; \"*\" matches all variables");
  EXPECT_EQ(withOffload("prefetch: -1"), "offload.prefetch is -1; it is at least 0");
  EXPECT_EQ(withOffload("max_in_flight: 0"), "offload.max_in_flight is 0; it is at least 1");
  EXPECT_EQ(withOffload("max_live_megabytes: 0"), "offload.max_live_megabytes is 0; it is positive");
  EXPECT_EQ(withOffload("max_live_megabytes: nan"), "offload.max_live_megabytes is NaN; it is positive");
}
