//===- ClusteringTest.cpp - fusion of operations --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses hand-made problems without IR and checks which operations share a kernel; on random graphs, the order contains
// every operation once and after its operands.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/Clustering.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"

using namespace meshwright;
using namespace meshwright::schedule;
using Access = ClusterProblem::Access;
using Node = ClusterProblem::Node;

namespace {

/// More elements than a small result has.
constexpr int64_t kMany = 4096;

/// Builds problems node by node; values are named by their producers, what is there from the start by negative numbers.
struct ProblemBuilder {
  ClusterProblem problem;

  static ClusterProblem::Use use(int producer, int64_t elements, Access access = Access::Same) {
    return {producer, access, producer < 0 ? 1000 - producer : producer, elements};
  }
  int add(Node::Kind kind, int64_t elements, std::initializer_list<ClusterProblem::Use> uses, int64_t kept = -1) {
    Node node;
    node.kind = kind;
    node.elements = elements;
    node.kept = kept;
    node.uses.append(uses.begin(), uses.end());
    problem.nodes.push_back(node);
    return problem.nodes.size() - 1;
  }
  int map(int64_t elements, std::initializer_list<ClusterProblem::Use> uses) { return add(Node::Map, elements, uses); }
  int barrier(std::initializer_list<ClusterProblem::Use> uses) { return add(Node::Barrier, 0, uses); }
  int assign(int update) {
    int node = barrier({use(update, kMany, Access::Memory)});
    problem.nodes[node].assigns = true;
    return node;
  }
};

/// The first node of each cluster and the barriers, as they run.
std::vector<int> getOrder(const Clustering &clustering) {
  std::vector<int> order;
  for (auto &item : clustering.order)
    order.push_back(item.front());
  return order;
}

} // namespace

TEST(Clustering, ElementwiseChainsJoin) {
  ProblemBuilder b;
  int x = b.map(64, {b.use(-1, 64)});
  int y = b.map(64, {b.use(x, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[x], result.clusterOf[y]);
  EXPECT_EQ(result.order.size(), 1u);
}

TEST(Clustering, WhatIsDrawnIsMadeWhereItIsReadFirst) {
  ProblemBuilder b;
  int key = b.map(1, {b.use(-1, 1)});
  int bits = b.map(64, {b.use(key, 1, Access::Memory)});
  int mask = b.map(64, {b.use(bits, 64)});
  int product = b.barrier({b.use(-2, 64, Access::Memory)});
  int forward = b.map(64, {b.use(product, 64), b.use(mask, 64)});
  int gradient = b.barrier({b.use(forward, 64, Access::Memory)});
  int backward = b.map(64, {b.use(gradient, 64), b.use(mask, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[bits], result.clusterOf[forward]);
  EXPECT_EQ(result.clusterOf[mask], result.clusterOf[forward]);
  EXPECT_NE(result.clusterOf[backward], result.clusterOf[forward]);
  EXPECT_FALSE(result.stored[bits]);
}

TEST(Clustering, WhatIsReadFromMemoryStaysWhereItIsMade) {
  ProblemBuilder b;
  int mask = b.map(64, {b.use(-1, 64)});
  int product = b.barrier({b.use(-2, 64, Access::Memory)});
  int forward = b.map(64, {b.use(product, 64), b.use(mask, 64)});
  int gradient = b.barrier({b.use(forward, 64, Access::Memory)});
  b.map(64, {b.use(gradient, 64), b.use(mask, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_NE(result.clusterOf[mask], result.clusterOf[forward]);
}

TEST(Clustering, SoftmaxIsOneKernel) {
  ProblemBuilder b;
  int logits = b.barrier({});
  int max = b.add(Node::Reduce, 64, {b.use(logits, 64)}, 8);
  int shifted = b.map(64, {b.use(logits, 64), b.use(max, 8, Access::Row)});
  int exponential = b.map(64, {b.use(shifted, 64)});
  int sum = b.add(Node::Reduce, 64, {b.use(exponential, 64)}, 8);
  int log = b.map(8, {b.use(sum, 8)});
  int quotient = b.map(64, {b.use(exponential, 64), b.use(sum, 8, Access::Row)});
  Clustering result = cluster(b.problem);
  for (int node : {shifted, exponential, sum, log, quotient})
    EXPECT_EQ(result.clusterOf[node], result.clusterOf[max]) << node;
  EXPECT_EQ(result.clusterOf[logits], -1);
}

TEST(Clustering, WhatAColumnReductionMakesIsReadInAnotherKernel) {
  ProblemBuilder b;
  int x = b.map(64, {b.use(-1, 64)});
  int sum = b.add(Node::Reduce, 64, {b.use(x, 64)}, -1);
  int y = b.map(8, {b.use(sum, 8)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[sum], result.clusterOf[x]);
  EXPECT_NE(result.clusterOf[y], result.clusterOf[sum]);
}

TEST(Clustering, RowsOfAnotherLengthAreAnotherKernel) {
  ProblemBuilder b;
  int x = b.map(64, {b.use(-1, 64)});
  int left = b.add(Node::Reduce, 64, {b.use(x, 64)}, 8);
  int right = b.add(Node::Reduce, 64, {b.use(x, 64)}, 4);
  int user = b.map(64, {b.use(x, 64), b.use(right, 4, Access::Row)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[left], result.clusterOf[x]);
  EXPECT_NE(result.clusterOf[user], result.clusterOf[x]);
}

TEST(Clustering, WhatDependsOnABarrierInBetweenDoesNotJoin) {
  ProblemBuilder b;
  int x = b.map(64, {b.use(-1, 64)});
  int product = b.barrier({b.use(x, 64, Access::Memory)});
  int y = b.map(64, {b.use(x, 64), b.use(product, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_NE(result.clusterOf[x], result.clusterOf[y]);
}

TEST(Clustering, TwoUpdatesThatMeetBecomeOne) {
  // The moments of Adam, made from the same gradient, and the parameter that reads both.
  ProblemBuilder b;
  int gradient = b.barrier({});
  int m = b.map(64, {b.use(-1, 64), b.use(gradient, 64)});
  int v = b.map(64, {b.use(-2, 64), b.use(gradient, 64)});
  int p = b.map(64, {b.use(-3, 64), b.use(m, 64), b.use(v, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[m], result.clusterOf[p]);
  EXPECT_EQ(result.clusterOf[v], result.clusterOf[p]);
}

TEST(Clustering, WhatOneLaterKernelReadsMovesThere) {
  // The decayed moment, of a variable alone, is computed where it is added to the gradient.
  ProblemBuilder b;
  int decayed = b.map(64, {b.use(-1, 64)});
  int gradient = b.barrier({});
  int sum = b.map(64, {b.use(decayed, 64), b.use(gradient, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[decayed], result.clusterOf[sum]);
  EXPECT_FALSE(result.stored[decayed]);
}

TEST(Clustering, CheapOperationsOnAStoredValueAreComputedAgain) {
  ProblemBuilder b;
  int x = b.barrier({});
  int square = b.map(64, {b.use(x, 64)});
  int cube = b.map(64, {b.use(square, 64), b.use(x, 64)});
  int tanh = b.map(64, {b.use(cube, 64)});
  b.problem.nodes[tanh].expensive = true;
  int product = b.barrier({b.use(tanh, 64, Access::Memory)});
  int derivative = b.map(64, {b.use(square, 64), b.use(tanh, 64), b.use(product, 64)});
  b.barrier({b.use(derivative, 64, Access::Memory)});
  Clustering result = cluster(b.problem);
  EXPECT_FALSE(result.stored[square]);
  EXPECT_FALSE(result.stored[cube]);
  EXPECT_TRUE(result.stored[tanh]);
  EXPECT_TRUE(result.stored[derivative]);
}

TEST(Clustering, UpdatesRunAsSoonAsTheyCanButAfterReaders) {
  ProblemBuilder b;
  int gradient = b.barrier({});
  int other = b.barrier({b.use(gradient, kMany, Access::Memory)});
  int reader = b.barrier({b.use(-1, kMany, Access::Memory), b.use(other, kMany, Access::Memory)});
  int late = b.barrier({b.use(reader, kMany, Access::Memory)});
  int update = b.map(kMany, {b.use(-1, kMany), b.use(gradient, kMany)});
  int assign = b.assign(update);
  b.problem.nodes[update].after = {static_cast<unsigned>(reader)};
  EXPECT_EQ(getOrder(cluster(b.problem)), (std::vector<int>{gradient, other, reader, update, assign, late}));
}

TEST(Clustering, GradientsOfWeightsComeBeforeTheRestOfBackward) {
  ProblemBuilder b;
  int forward = b.barrier({}), cotangent = b.barrier({b.use(forward, kMany, Access::Memory)});
  int further = b.barrier({b.use(cotangent, kMany, Access::Memory)});
  int layout = b.map(kMany, {b.use(forward, kMany, Access::Memory)});
  int gradient = b.barrier({b.use(cotangent, kMany, Access::Memory), b.use(layout, kMany, Access::Memory)});
  int update = b.map(kMany, {b.use(-1, kMany), b.use(gradient, kMany)}), assign = b.assign(update);
  b.problem.nodes[update].after = {static_cast<unsigned>(further)};
  // The layout that only the gradient reads is not stored before the gradient can be computed.
  EXPECT_EQ(getOrder(cluster(b.problem)),
            (std::vector<int>{forward, cotangent, layout, gradient, further, update, assign}));
}

TEST(Clustering, ShortUpdatesComeBeforeLongOnes) {
  ProblemBuilder b;
  int last = b.barrier({}), cotangent = b.barrier({b.use(last, kMany, Access::Memory)});
  int first = b.barrier({b.use(cotangent, kMany, Access::Memory)});
  int updateFirst = b.map(kMany, {b.use(-1, kMany), b.use(first, kMany)}), assignFirst = b.assign(updateFirst);
  int updateLast = b.map(kMany, {b.use(-2, kMany), b.use(last, kMany)}), assignLast = b.assign(updateLast);
  EXPECT_EQ(getOrder(cluster(b.problem)),
            (std::vector<int>{last, updateLast, assignLast, cotangent, first, updateFirst, assignFirst}));
}

TEST(Clustering, SumsRunAsSoonAsTheyCanUnlessTheyReadDataOfOthers) {
  for (bool remote : {false, true}) {
    ProblemBuilder b;
    int logits = b.barrier({});
    b.problem.nodes[logits].remote = remote;
    int backward = b.barrier({b.use(-1, kMany, Access::Memory)});
    int loss = b.add(Node::Reduce, kMany, {b.use(logits, kMany)}, -1);
    int result = b.barrier({b.use(backward, kMany, Access::Memory), b.use(loss, 1, Access::Memory)});
    auto expected =
        remote ? std::vector<int>{logits, backward, loss, result} : std::vector<int>{logits, loss, backward, result};
    EXPECT_EQ(getOrder(cluster(b.problem)), expected);
  }
}

TEST(Clustering, UpdatesComeAfterKernelsThatReadTheOldValueAgain) {
  // The sum with the old value is cheap, so the kernel of `again` reads the old value for itself.
  ProblemBuilder b;
  int x = b.barrier({}), sum = b.map(kMany, {b.use(x, kMany), b.use(-1, 64, Access::Memory)});
  int tanh = b.map(kMany, {b.use(sum, kMany)});
  b.problem.nodes[tanh].expensive = true;
  int product = b.barrier({b.use(tanh, kMany, Access::Memory)});
  int other = b.barrier({b.use(product, kMany, Access::Memory)});
  int again = b.map(kMany, {b.use(other, kMany), b.use(sum, kMany)});
  int end = b.barrier({b.use(again, kMany, Access::Memory)});
  int update = b.map(kMany, {b.use(-2, kMany), b.use(product, kMany)}), assign = b.assign(update);
  b.problem.nodes[update].after = {static_cast<unsigned>(sum)};
  Clustering result = cluster(b.problem);
  ASSERT_FALSE(result.stored[sum]);
  EXPECT_EQ(getOrder(result), (std::vector<int>{x, sum, product, other, again, update, assign, end}));
}

TEST(Clustering, LoopsKeepTheirOrder) {
  ProblemBuilder b;
  int value = b.barrier({}), other = b.barrier({b.use(-1, kMany, Access::Memory)});
  int sum = b.add(Node::Reduce, kMany, {b.use(value, kMany)}, -1);
  int end = b.barrier({b.use(other, kMany, Access::Memory), b.use(sum, 1, Access::Memory)});
  for (int node : {value, other, sum, end})
    b.problem.nodes[node].looped = true;
  EXPECT_EQ(getOrder(cluster(b.problem)), (std::vector<int>{value, other, sum, end}));
}

/// A recomputed operation whose operands exist for long does not run before its trigger, and joins the kernel that
/// reads both it and the result of the trigger.
TEST(Clustering, WhatHasATriggerWaits) {
  ProblemBuilder b;
  int value = b.barrier({});
  int forward = b.map(64, {b.use(value, 64)});
  int cotangent = b.barrier({b.use(forward, 64, Access::Memory)});
  int again = b.map(64, {b.use(value, 64)});
  b.problem.nodes[again].trigger = cotangent;
  int derivative = b.map(64, {b.use(again, 64), b.use(cotangent, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_NE(result.clusterOf[again], result.clusterOf[forward]);
  EXPECT_EQ(result.clusterOf[again], result.clusterOf[derivative]);
  ASSERT_EQ(result.order.size(), 4u);
  EXPECT_EQ(result.order.back().front(), static_cast<unsigned>(again));
}

/// If a kernel over the same elements computes the trigger, that kernel recomputes too.
TEST(Clustering, WhatHasATriggerJoinsItsKernel) {
  ProblemBuilder b;
  int value = b.barrier({});
  int cotangent = b.map(64, {b.use(b.barrier({b.use(value, 64, Access::Memory)}), 64)});
  int again = b.map(64, {b.use(value, 64)});
  b.problem.nodes[again].trigger = cotangent;
  int derivative = b.map(64, {b.use(again, 64), b.use(cotangent, 64)});
  Clustering result = cluster(b.problem);
  EXPECT_EQ(result.clusterOf[again], result.clusterOf[cotangent]);
  EXPECT_EQ(result.clusterOf[derivative], result.clusterOf[cotangent]);
}

/// Random graphs: the order has everything once, and what is read, or waited for, comes before who reads it.
TEST(Clustering, RandomGraphsStayAcyclic) {
  test::Random random;
  size_t nodes = 0, kernels = 0;
  for (int round = 0; round < 300; ++round) {
    ProblemBuilder b;
    int count = 5 + random.pick(0, 60 - 1);
    for (int index = 0; index < count; ++index) {
      Node node;
      unsigned kind = random.pick(0, 10 - 1);
      node.kind = kind == 0 ? Node::Barrier : kind < 3 ? Node::Reduce : Node::Map;
      node.elements = random.pick(0, 5 - 1) == 0 ? 8 : 64;
      node.kept = node.kind == Node::Reduce ? (random.pick(0, 2 - 1) ? 8 : -1) : -1;
      for (unsigned use = 0; use < 1 + random.pick(0, 3 - 1); ++use) {
        int producer = static_cast<int>(random.pick(0, index + 2 - 1)) - 2;
        producer = std::max(producer, -1);
        int64_t elements = producer < 0 ? 64 : b.problem.nodes[producer].elements;
        node.uses.push_back(b.use(producer, elements, static_cast<Access>(random.pick(0, 3 - 1))));
      }
      if (index > 0 && random.chance(20))
        node.trigger = static_cast<int>(random.pick(0, index - 1));
      b.problem.nodes.push_back(node);
    }
    Clustering result = cluster(b.problem);
    std::vector<int> position(count, -1);
    for (size_t item = 0; item < result.order.size(); ++item)
      for (unsigned node : result.order[item]) {
        ASSERT_EQ(position[node], -1);
        position[node] = item;
      }
    for (int node = 0; node < count; ++node) {
      ASSERT_NE(position[node], -1) << "round " << round;
      for (const ClusterProblem::Use &use : b.problem.nodes[node].uses)
        if (use.producer >= 0) {
          ASSERT_LE(position[use.producer], position[node]) << "round " << round;
          if (position[use.producer] == position[node]) {
            EXPECT_NE(use.access, Access::Memory);
          }
        }
      if (int trigger = b.problem.nodes[node].trigger; trigger >= 0) {
        ASSERT_LE(position[trigger], position[node]) << "round " << round;
      }
    }
    nodes += count;
    kernels += result.order.size();
  }
  printf("%zu operations in %zu kernels and barriers\n", nodes, kernels);
  EXPECT_LT(kernels, nodes);
}
