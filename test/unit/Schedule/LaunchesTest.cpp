//===- LaunchesTest.cpp - buckets of gradients, fetches of parameters -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks LaunchTable and FetchQueue what Communicate asks them, without moving an operation.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "lib/Overlap/FetchQueue.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

class LaunchesTest : public ::testing::Test {
protected:
  LaunchesTest() { context.loadDialect<func::FuncDialect, dist::DistDialect, net::NetDialect>(); }

  /// Parses `text`, which has one function, and lists its operations.
  void parse(const std::string &text) {
    module = parseSourceString<ModuleOp>("dist.mesh @mesh <[\"dp\" = 2, \"tp\" = 2]>\n" + text, &context);
    ASSERT_TRUE(module) << text;
    func::FuncOp func = *module->getOps<func::FuncOp>().begin();
    nest = *net::LoopNest::find(func.getBody().front());
    traffic.emplace(func, nest);
    for (Operation &op : func.getBody().front())
      ops.push_back(&op);
    for (auto op : func.getBody().front().getOps<dist::CollectiveOp>())
      collectives.push_back(op);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  net::LoopNest nest;
  std::optional<Traffic> traffic;
  std::vector<Operation *> ops;
  std::vector<dist::CollectiveOp> collectives;
};

/// A product, its reduction over `axes`, and the update of variable `name` with it.
std::string makeGradient(const std::string &name, const std::string &axes, int64_t size) {
  std::string type = "tensor<" + std::to_string(size) + "xf32>";
  return "%p_" + name + " = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m " + std::to_string(size) +
         " n 1 k 1 {net.role = #net.role<backward>} : tensor<64xf32>, tensor<1x1xf32> -> " + type + "\n%r_" + name +
         " = dist.collective c_allreduce sum(%p_" + name + ") axes " + axes + " {net.role = #net.role<backward>} : (" +
         type + ") -> " + type + "\nnet.assign @" + name + ", %r_" + name + " : " + type + "\n";
}

} // namespace

// Tests that gradients of one group and type share a bucket until it is closed, and that a bucket that has started is
// no longer waited with.
TEST_F(LaunchesTest, BucketsCollectWhatCanBeOne) {
  parse("net.variable parameter @a : tensor<16xf32>\nnet.variable parameter @b : tensor<32xf32>\n"
        "net.variable parameter @c : tensor<16xf32>\nnet.variable parameter @d : tensor<16xf32>\n"
        "func.func @f(%x: tensor<64xf32>, %y: tensor<1x1xf32>) {\n" +
        makeGradient("a", "[\"dp\"]", 16) + makeGradient("b", "[\"dp\"]", 32) + makeGradient("c", "[\"tp\"]", 16) +
        makeGradient("d", "[\"dp\"]", 16) + "return\n}\n");
  ASSERT_EQ(collectives.size(), 4u);
  LaunchTable table(*traffic);
  for (dist::CollectiveOp op : collectives)
    ASSERT_EQ(traffic->getPurpose(op), Traffic::Purpose::Gradient);
  Launch &first = table.getBucket(collectives[0]);
  table.add(first, collectives[0]);
  EXPECT_EQ(&table.getBucket(collectives[1]), &first);
  table.add(first, collectives[1]);
  EXPECT_EQ(first.bytes, (16 + 32) * 4);
  Launch &other = table.getBucket(collectives[2]);
  EXPECT_NE(&other, &first);
  table.add(other, collectives[2]);
  EXPECT_EQ(table.find(collectives[1]), &first);
  EXPECT_EQ(table.find(collectives[3]), nullptr);
  EXPECT_EQ(table.getUnsent(), llvm::ArrayRef<Launch *>({&first, &other}));
  table.close(first);
  EXPECT_EQ(table.getUnsent().size(), 2u);
  Launch &later = table.getBucket(collectives[3]);
  EXPECT_NE(&later, &first);
  table.start(first);
  EXPECT_EQ(table.getUnsent(), llvm::ArrayRef<Launch *>({&other, &later}));
}

namespace {

/// Two parameters that are fetched for segments 0 and 1, at the begin of segment 0, and read by one product each.
constexpr const char *kFetches = R"(
net.variable parameter @a : tensor<8xf32>
net.variable parameter @b : tensor<8xf32>
func.func @f(%x: tensor<16x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %wa = net.read @a : tensor<8xf32>
  %wb = net.read @b : tensor<8xf32>
  %a = dist.collective c_allgather(%wa) axes ["dp"] {dist.segment = 0 : i64, dist.fetch_at = 0 : i64} : (tensor<8xf32>) -> tensor<2x8xf32>
  %b = dist.collective c_allgather(%wb) axes ["dp"] {dist.segment = 1 : i64, dist.fetch_at = 0 : i64} : (tensor<8xf32>) -> tensor<2x8xf32>
  %0 = dist.matmul %a at 0 [16, 1], %x at 0 [1, 1] to [1, 1] batch [] m 1 n 1 k 16 {dist.segment = 0 : i64} : tensor<2x8xf32>, tensor<16x1xf32> -> tensor<1x1xf32>
  %1 = dist.matmul %b at 0 [16, 1], %x at 0 [1, 1] to [1, 1] batch [] m 1 n 1 k 16 {dist.segment = 1 : i64} : tensor<2x8xf32>, tensor<16x1xf32> -> tensor<1x1xf32>
  return %0, %1 : tensor<1x1xf32>, tensor<1x1xf32>
})";

} // namespace

// Tests that a fetch waits for memory until what is alive has been read, and that without a bound it does not.
TEST_F(LaunchesTest, FetchesWaitForMemory) {
  parse(kFetches);
  ASSERT_EQ(collectives.size(), 2u);
  Operation *firstReader = *collectives[0]->user_begin();
  for (int64_t bound : {0, 64, 100, 128}) {
    LaunchTable table(*traffic);
    FetchQueue queue(bound);
    queue.add(ops, *traffic, table);
    EXPECT_EQ(queue.findNext(-1), nullptr);
    Launch *first = queue.findNext(0);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->members.front(), collectives[0]);
    EXPECT_EQ(first->liveBytes, 64);
    first->state = Launch::Started;
    queue.start(*first);
    bool fits = bound == 0 || bound >= 128;
    EXPECT_EQ(queue.findNext(0) != nullptr, fits) << bound;
    queue.countRead(firstReader);
    EXPECT_EQ(queue.getLiveBytes(), 0);
    Launch *second = queue.findNext(0);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->members.front(), collectives[1]);
    second->state = Launch::Started;
    queue.start(*second);
    EXPECT_EQ(queue.findNext(5), nullptr);
    EXPECT_EQ(queue.getLiveBytes(), 64);
  }
}
