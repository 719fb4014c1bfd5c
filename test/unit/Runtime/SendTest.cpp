//===- SendTest.cpp - values that go from one rank to another -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package made by hand: rank 0 sends `w` to rank 1, that to rank 2, which returns it as `y` and sends it back to rank
// 0, which returns it as `z`.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/Session.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr uint32_t numRanks = 3, count = 5;

void setSupport(Placement *placement, int64_t coordinate) {
  Support *support = placement->add_support();
  support->set_axis(0);
  support->add_coordinates(coordinate);
}

/// The program of one rank. Where it starts what it sends and gets, it waits for both at the end.
void makeProgram(Program &program, uint32_t rank, bool starts) {
  ProgramBuilder builder(program);
  builder.addTask("step");
  bool isFirst = rank == 0, isLast = rank + 1 == numRanks;
  int32_t w = isFirst ? static_cast<int32_t>(builder.addBuffer("w", {count})) : -1;
  builder.endPersistent();
  auto got = static_cast<int32_t>(builder.addBuffer("", {count}));
  auto send = [&](uint32_t from, uint32_t to, int32_t in, int32_t out, uint32_t tag) {
    Collective *collective = builder.addCollective(Collective::SEND, "w", in, out, count, {0}, tag);
    collective->mutable_parts(0)->set_root(from);
    collective->set_to(to);
    collective->set_start(starts && in == w);
  };
  if (!isFirst)
    send(rank - 1, rank, -1, got, rank - 1);
  if (!isLast)
    send(rank, rank + 1, isFirst ? w : got, -1, rank);
  if (isFirst)
    send(numRanks - 1, 0, -1, got, numRanks);
  if (isLast)
    send(rank, 0, got, -1, numRanks);
  if (starts && isFirst)
    builder.addWait("w", 0);
  program.add_schedule()->set_end_step(1);
  program.add_variable_buffers(w);
  program.add_output_buffers(isLast ? got : -1);
  program.add_output_buffers(isFirst ? got : -1);
}

Package makeSends(bool starts = false) {
  Package package = makePackage(Fault::None, Style::Owned);
  package.clear_axes();
  package.clear_variables();
  package.clear_inputs();
  package.clear_outputs();
  package.clear_programs();
  package.clear_program_of_rank();
  package.clear_serial();
  package.clear_metrics();
  Axis *axis = package.add_axes();
  axis->set_name("pp");
  axis->set_size(numRanks);
  Variable *w = package.add_variables();
  describe(w, "w", {count});
  w->mutable_init()->set_kind(Initializer::NORMAL);
  w->mutable_init()->set_b(1);
  setSupport(w->mutable_placement(), 0);
  for (const char *name : {"y", "z"}) {
    Port *port = package.add_outputs();
    describe(port, name, {count});
    setSupport(port->mutable_placement(), *name == 'y' ? numRanks - 1 : 0);
  }
  for (uint32_t rank = 0; rank != numRanks; ++rank) {
    makeProgram(*package.add_programs(), rank, starts);
    package.add_program_of_rank(rank);
  }
  return package;
}

std::string getError(const std::function<void(Package &)> &change) {
  TempFolder folder;
  Package package = makeSends();
  change(package);
  EXPECT_TRUE(writePackage(package, folder / "p"));
  auto opened = LoadedPackage::open(folder / "p");
  std::string message = opened.ok() ? "" : opened.status().message();
  size_t at = message.find("package.pb: ");
  return at == std::string::npos ? message : message.substr(at + 12);
}

/// The send that a rank's program has at that place.
Collective &getSend(Package &package, int rank, int place) {
  return *package.mutable_programs(rank)->mutable_tasks(0)->mutable_instructions(place)->mutable_collective();
}

} // namespace

TEST(Send, GoesFromRankToRank) {
  for (bool starts : {false, true}) {
    TempFolder folder;
    ASSERT_TRUE(writePackage(makeSends(starts), folder / "p"));
    auto package = LoadedPackage::open(folder / "p");
    ASSERT_TRUE(package.ok()) << package.status().message();
    auto session = Session::create(*package, {});
    ASSERT_TRUE(session.ok()) << session.status().message();
    ASSERT_TRUE((*session)->initialize(nullptr, 7).ok());
    for (int step = 0; step != 3; ++step) {
      Status status = (*session)->step();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    auto get = [&](const ValueSet &set, size_t i) {
      std::vector<float> values(count);
      EXPECT_TRUE((*session)->gather(set, i, std::as_writable_bytes(std::span(values))).ok());
      return values;
    };
    std::vector<float> w = get((*session)->getVariables(), 0);
    EXPECT_NE(w, std::vector<float>(count, 0));
    EXPECT_EQ(get((*session)->getOutputs(), 0), w);
    EXPECT_EQ(get((*session)->getOutputs(), 1), w);
  }
}

TEST(Send, EndsAreChecked) {
  auto endsWith = [](const std::string &text, const std::string &end) { return text.ends_with(end); };
  EXPECT_EQ(getError([](Package &) {}), "");
  EXPECT_PRED2(endsWith, getError([](Package &p) { getSend(p, 0, 0).set_to(0); }),
               "member 0 of a group of 3 sends to member 0");
  EXPECT_PRED2(endsWith, getError([](Package &p) { getSend(p, 0, 0).set_to(9); }),
               "member 0 of a group of 3 sends to member 9");
  EXPECT_PRED2(endsWith, getError([](Package &p) { getSend(p, 0, 0).mutable_parts(0)->set_root(2); }),
               "part \"w\" has an operand, but the program is not that of member 2 alone, which sends it");
  EXPECT_PRED2(endsWith, getError([](Package &p) { getSend(p, 2, 0).set_to(1); }),
               "part \"w\" has a result, but the program is not that of member 1 alone, which gets it");
  EXPECT_PRED2(endsWith, getError([](Package &p) { getSend(p, 0, 0).mutable_parts(0)->clear_in(); }),
               "part \"w\" is sent and has no operand");
  EXPECT_PRED2(endsWith, getError([](Package &p) { getSend(p, 0, 0).mutable_parts(0)->set_out(1); }),
               "part \"w\" is sent and has a result");
  EXPECT_PRED2(endsWith, getError([](Package &p) {
                 CollectivePart part = getSend(p, 0, 0).parts(0);
                 part.set_root(1);
                 part.set_name("v");
                 *getSend(p, 0, 0).add_parts() = part;
               }),
               "part \"v\" has an operand, but the program is not that of member 1 alone, which sends it");
}

TEST(Send, BothEndsIssueTheSame) {
  EXPECT_EQ(
      getError([](Package &p) { getSend(p, 0, 0).mutable_parts(0)->set_count(4); }),
      "ranks 0 and 1 are in one group, but where rank 0 issues c_send #0 (w, hand.mlir:1) of 4 f32 with root 0 to "
      "1, rank 1 issues c_send #0 (w, hand.mlir:1) of 5 f32 with root 0 to 1");
  EXPECT_EQ(
      getError(
          [](Package &p) { p.mutable_programs(2)->mutable_tasks(0)->mutable_instructions()->DeleteSubrange(0, 1); }),
      "ranks 1 and 2 are in one group, but where rank 1 issues c_send #1 (w, hand.mlir:2) of 5 f32 with root 1 to "
      "2, rank 2 issues nothing");
}

TEST(Send, CrossedOnesAreReported) {
  // Rank 0 waits for rank 2 before it sends, rank 2 for rank 1, and rank 1 for rank 0.
  EXPECT_EQ(
      getError([](Package &p) { p.mutable_programs(0)->mutable_tasks(0)->mutable_instructions()->SwapElements(0, 1); }),
      "ranks wait for each other for ever: rank 0 waits for rank 2, in c_send #3 (w, hand.mlir:2) of task "
      "\"step\"; rank 2 waits for rank 1, in c_send #1 (w, hand.mlir:1) of task \"step\"; rank 1 waits for rank "
      "0, in c_send #0 (w, hand.mlir:1) of task \"step\"");
}
