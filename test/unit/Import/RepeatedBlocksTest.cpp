//===- RepeatedBlocksTest.cpp - the layers of a network by structure ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the maximal repetitions found in linear-logarithmic time with those of the definition, tried for all
// positions and periods, and checks the blocks that are cut from hand-written networks.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/RepeatedBlocks.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"
#include <map>
#include <optional>
#include <string>

using namespace meshwright::importer;

namespace {

/// All maximal repetitions, by their definition.
std::vector<Repetition> findByDefinition(llvm::ArrayRef<uint64_t> sequence) {
  std::vector<Repetition> found;
  for (unsigned period = 1; 2 * period <= sequence.size(); ++period)
    for (unsigned begin = 0, end; begin + period < sequence.size(); begin = end + 1) {
      for (end = begin; end + period < sequence.size() && sequence[end] == sequence[end + period];)
        ++end;
      if (end - begin >= period)
        found.push_back({begin, end + period, period});
    }
  return found;
}

/// Writes networks a line at a time: `ANCHOR operands…` with values by name.
class Builder {
public:
  /// An operation on activations; with `parameter` one that applies a parameter to them.
  unsigned add(const std::string &kind, llvm::ArrayRef<unsigned> operands, bool parameter = false, int64_t bytes = 8) {
    NetworkShape::Op op;
    op.kind = kinds.try_emplace(kind, kinds.size() + 1).first->second;
    op.operands.assign(operands.begin(), operands.end());
    op.bytes = bytes;
    op.isAnchor = parameter;
    op.isHeavy = kind.substr(0, 3) == "dot";
    network.ops.push_back(op);
    return network.ops.size() - 1;
  }
  unsigned dot(const std::string &kind, unsigned operand) { return add("dot" + kind, {operand}, true); }

  /// A layer that normalizes first, with attention that reads its input three times.
  unsigned transformer(unsigned x, std::optional<unsigned> bias = std::nullopt) {
    unsigned a = add("scale", {add("norm", {x})}, true);
    unsigned q = dot("d", a), k = dot("d", a), v = dot("d", a);
    unsigned mixed = bias ? add("attend", {q, k, v, *bias}) : add("attend", {q, k, v});
    x = add("add", {x, dot("d", mixed)});
    unsigned m = add("scale", {add("norm", {x})}, true);
    return add("add", {x, dot("down", add("gelu", {dot("up", m)}))});
  }

  /// A layer that normalizes last.
  unsigned postNormal(unsigned x) {
    unsigned s = add("add", {x, dot("down", add("gelu", {dot("up", x)}))});
    return add("scale", {add("norm", {s})}, true);
  }

  /// A residual block of two equal convolutions.
  unsigned residual(unsigned x) {
    unsigned y = add("relu", {dot("c", x)});
    return add("relu", {add("add", {x, dot("c", y)})});
  }

  std::vector<std::vector<unsigned>> find() const {
    std::vector<std::vector<unsigned>> rows;
    for (const BlockRow &row : findRepeatedBlocks(network))
      rows.emplace_back(row.begin(), row.end());
    return rows;
  }

  NetworkShape network;

private:
  std::map<std::string, uint64_t> kinds;
};

using Rows = std::vector<std::vector<unsigned>>;

} // namespace

TEST(RepeatedBlocksTest, FindsAllMaximalRepetitions) {
  for (int64_t round = 0; round < 3000; ++round) {
    meshwright::test::Random random(round);
    SCOPED_TRACE(random.describe(round));
    std::vector<uint64_t> sequence(random.pick(0, 40));
    size_t period = random.pick(1, 12);
    int64_t letters = random.pick(1, 3);
    for (size_t i = 0; i < sequence.size(); ++i)
      sequence[i] = i >= period && random.chance(94) ? sequence[i - period] : random.pick(1, letters);
    std::vector<Repetition> expected = findByDefinition(sequence);
    std::sort(expected.begin(), expected.end(), [](const Repetition &a, const Repetition &b) {
      return std::tuple(b.end - b.begin, a.period, a.begin) < std::tuple(a.end - a.begin, b.period, b.begin);
    });
    llvm::SmallVector<Repetition, 0> found = findRepetitions(sequence);
    EXPECT_EQ(std::vector<Repetition>(found.begin(), found.end()), expected);
  }
}

TEST(RepeatedBlocksTest, CutsWhereOneValueIsAlive) {
  Builder network;
  unsigned x = network.add("embed", {}, true);
  Rows expected(1);
  for (int layer = 0; layer < 3; ++layer) {
    expected[0].push_back(network.network.ops.size());
    x = network.transformer(x);
  }
  expected[0].push_back(network.network.ops.size());
  // The last norm is as the first of a block, and the repetition longer than three periods.
  network.dot("head", network.add("scale", {network.add("norm", {x})}, true));
  EXPECT_EQ(network.find(), expected);
}

TEST(RepeatedBlocksTest, LeavesANormInFrontOutOfBlocksThatNormalizeLast) {
  Builder network;
  unsigned x = network.add("scale", {network.add("norm", {network.add("embed", {}, true)})}, true);
  Rows expected(1);
  for (int layer = 0; layer < 2; ++layer) {
    expected[0].push_back(network.network.ops.size());
    x = network.postNormal(x);
  }
  expected[0].push_back(network.network.ops.size());
  network.dot("head", x);
  EXPECT_EQ(network.find(), expected);
}

TEST(RepeatedBlocksTest, JoinsTheHalvesOfResidualBlocks) {
  Builder network;
  unsigned x = network.dot("stem", network.add("image", {}, false, 0));
  Rows expected(1);
  for (int block = 0; block < 2; ++block) {
    expected[0].push_back(network.network.ops.size());
    x = network.residual(x);
  }
  expected[0].push_back(network.network.ops.size());
  network.dot("head", x);
  EXPECT_EQ(network.find(), expected);
  // The halves of a single block are none.
  Builder single;
  single.dot("head", single.residual(single.dot("stem", single.add("image", {}, false, 0))));
  EXPECT_EQ(single.find(), Rows());
}

TEST(RepeatedBlocksTest, FindsEncoderAndDecoder) {
  Builder network;
  unsigned x = network.add("embed", {}, true);
  Rows expected(2);
  unsigned bias = 0;
  for (int layer = 0; layer < 3; ++layer) {
    expected[0].push_back(network.network.ops.size());
    // The first block makes a bias of positions that all add.
    if (layer == 0)
      bias = network.add("bias", {}, false, 100);
    x = network.transformer(x, bias);
  }
  expected[0].push_back(network.network.ops.size());
  unsigned encoded = network.add("norm", {x}), y = network.add("embed", {}, true);
  for (int layer = 0; layer < 2; ++layer) {
    expected[1].push_back(network.network.ops.size());
    unsigned cross = network.add("attend", {network.dot("q", y), network.dot("k", encoded)});
    y = network.postNormal(network.add("add", {y, network.dot("d", cross)}));
  }
  expected[1].push_back(network.network.ops.size());
  network.dot("head", y);
  EXPECT_EQ(network.find(), expected);
}

TEST(RepeatedBlocksTest, FindsNoBlocksInParallelOrSkippedLayers) {
  // Heads beside each other are no row: none reads the one before.
  Builder parallel;
  unsigned x = parallel.add("embed", {}, true);
  unsigned a = parallel.dot("d", x), b = parallel.dot("d", x), c = parallel.dot("d", x);
  parallel.add("sum", {a, b, c});
  EXPECT_EQ(parallel.find(), Rows());
  // A value that skips a layer to the next but one.
  Builder skipped;
  unsigned first = skipped.dot("d", skipped.add("embed", {}, true));
  unsigned second = skipped.dot("d", first);
  skipped.add("add", {first, skipped.dot("d", second)});
  EXPECT_EQ(skipped.find(), Rows());
  EXPECT_EQ(Builder().find(), Rows());
}

TEST(RepeatedBlocksTest, TakesTimeNearLinearInTheNetwork) {
  Builder network;
  unsigned x = network.add("embed", {}, true);
  for (int layer = 0; layer < 3000; ++layer)
    x = network.transformer(x);
  Rows rows = network.find();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().size(), 3001u);
}
