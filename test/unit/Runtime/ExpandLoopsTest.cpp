//===- ExpandLoopsTest.cpp - programs without loops -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unrolls loops of hand-made packages and compares names, addresses and tags of the instructions with expected ones;
// loops that do not match, leave the arena or are too large are errors.
//
//===----------------------------------------------------------------------===//

#include "runtime/package/ExpandLoops.h"
#include "ProgramBuilder.h"
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

/// A package with one task, in which `build` puts instructions.
template <typename Build> Package makeLoops(Build &&build) {
  Package package;
  ProgramBuilder builder(*package.add_programs());
  builder.addTask("step");
  build(builder);
  return package;
}

void addLoop(ProgramBuilder &builder, uint64_t count, bool reverse = false) {
  Loop *loop = builder.add("loop")->mutable_loop();
  loop->set_count(count);
  loop->set_reverse(reverse);
}

void endLoop(ProgramBuilder &builder) { builder.add("end")->mutable_end_loop(); }

/// The names of all instructions, with the offsets of what a copy copies.
std::string describe(const Package &package) {
  std::string text;
  const Program &program = package.programs(0);
  for (const Instruction &instruction : program.tasks(0).instructions()) {
    text += text.empty() ? "" : "; ";
    text += instruction.name();
    if (instruction.has_copy())
      text += fmt::format(" {}->{}", program.buffers(static_cast<int>(instruction.copy().from())).offset(),
                          program.buffers(static_cast<int>(instruction.copy().to())).offset());
    if (instruction.has_wait())
      text += fmt::format(" #{}", instruction.wait().tag());
    if (instruction.has_collective())
      text += fmt::format(" #{}", instruction.collective().tag());
  }
  return text;
}

std::string getError(Package package) { return expandLoops(package).message(); }

TEST(ExpandLoops, IterationsComeOneAfterTheOther) {
  Package package = makeLoops([](ProgramBuilder &builder) {
    uint32_t stack = builder.addBuffer("stack", {3, 16}), value = builder.addBuffer("value", {16});
    uint32_t part = builder.addBuffer("part", {16});
    auto copy = [&](const char *name, uint32_t from, uint32_t to) {
      Copy *made = builder.add(name)->mutable_copy();
      made->set_from(from);
      made->set_to(to);
    };
    copy("before", value, part);
    addLoop(builder, 3);
    copy("up", part, value);
    endLoop(builder);
    addLoop(builder, 2, /*reverse=*/true);
    addLoop(builder, 2);
    copy("nested", stack, value);
    endLoop(builder);
    endLoop(builder);
  });
  Program &program = *package.mutable_programs(0);
  for (uint64_t bytes : {1000, 64})
    program.mutable_buffers(0)->add_iteration_bytes(bytes);
  // The buffer that moves is accessed only inside the first loop.
  program.mutable_buffers(2)->add_iteration_bytes(64);
  program.mutable_tasks(0)->mutable_instructions(0)->mutable_copy()->set_to(1);
  ASSERT_EQ(expandLoops(package).message(), "");
  EXPECT_EQ(describe(package), "before 192->192; up [0] 256->192; up [1] 320->192; up [2] 384->192; "
                               "nested [1, 0] 1000->192; nested [1, 1] 1064->192; nested [0, 0] 0->192; "
                               "nested [0, 1] 64->192");
  for (const Buffer &buffer : package.programs(0).buffers())
    EXPECT_EQ(buffer.iteration_bytes_size(), 0);
  // One buffer for each place, and the first place has one already.
  EXPECT_EQ(package.programs(0).buffers_size(), 3 + 2 + 3);
  std::string loops;
  for (const ExpandedLoop &loop : package.programs(0).tasks(0).loops())
    loops += fmt::format("{} times {} from {}; ", loop.count(), loop.length(), loop.begin());
  EXPECT_EQ(loops, "3 times 1 from 1; 2 times 2 from 4; 2 times 1 from 4; 2 times 1 from 6; ");
}

TEST(ExpandLoops, ExpandedLoopsOfAFileCountForNothing) {
  Package package = makeLoops([](ProgramBuilder &builder) { builder.addWait("w", 0); });
  package.mutable_programs(0)->mutable_tasks(0)->add_loops()->set_count(7);
  ASSERT_EQ(expandLoops(package).message(), "");
  EXPECT_EQ(package.programs(0).tasks(0).loops_size(), 0);
}

TEST(ExpandLoops, TagsAreTheSameInAllPrograms) {
  // Another rank has one more collective, before the loop; both give those of the loop the same tags.
  auto build = [](bool hasMore) {
    return makeLoops([&](ProgramBuilder &builder) {
      uint32_t buffer = builder.addBuffer("x", {16});
      if (hasMore)
        builder.addAllReduce("more", buffer, 16, {1}, 7);
      addLoop(builder, 2);
      addLoop(builder, 2, /*reverse=*/true);
      builder.addCollective(Collective::ALL_REDUCE, "sum", 0, 0, 16, {0}, 3)->set_start(true);
      builder.addWait("sum", 3);
      endLoop(builder);
      endLoop(builder);
    });
  };
  Package package = build(false);
  *package.add_programs() = build(true).programs(0);
  ASSERT_EQ(expandLoops(package).message(), "");
  std::string text = "sum [0, 1] #3; sum [0, 1] #3; sum [0, 0] #11; sum [0, 0] #11; "
                     "sum [1, 1] #19; sum [1, 1] #19; sum [1, 0] #27; sum [1, 0] #27";
  EXPECT_EQ(describe(package), text);
  package.mutable_programs()->DeleteSubrange(0, 1);
  EXPECT_EQ(describe(package), "more #7; " + text);
}

TEST(ExpandLoops, LoopsThatDoNotMatchAreErrors) {
  EXPECT_EQ(getError(makeLoops([](ProgramBuilder &builder) { endLoop(builder); })),
            "a program: instruction 0 of task \"step\" ends a loop where none has begun");
  EXPECT_EQ(getError(makeLoops([](ProgramBuilder &builder) { addLoop(builder, 2); })),
            "a program: 1 loops of task \"step\" do not end");
  EXPECT_EQ(getError(makeLoops([](ProgramBuilder &builder) {
              addLoop(builder, 0);
              endLoop(builder);
            })),
            "a program: instruction 0 of task \"step\" begins a loop of 0 iterations");
}

TEST(ExpandLoops, MovedPlacesAreChecked) {
  auto build = [](uint64_t bytes, bool inLoop) {
    Package package = makeLoops([&](ProgramBuilder &builder) {
      uint32_t buffer = builder.addBuffer("x", {16});
      if (inLoop)
        addLoop(builder, 3);
      builder.addKernel("k", {buffer});
      if (inLoop)
        endLoop(builder);
    });
    package.mutable_programs(0)->mutable_buffers(0)->add_iteration_bytes(bytes);
    return package;
  };
  EXPECT_EQ(getError(build(64, true)), "");
  EXPECT_EQ(getError(build(64, false)),
            "a program: task \"step\": instruction 0 (k): buffer 0 moves with the iterations of "
            "1 loops, but 0 are around the instruction");
  EXPECT_EQ(getError(build(uint64_t(1) << 63, true)),
            "a program: task \"step\": instruction 1 (k): buffer 0 moves by more bytes than there are");
}

TEST(ExpandLoops, HugeLoopsAreErrors) {
  auto build = [](uint64_t outer, uint64_t inner, bool isEmpty) {
    return makeLoops([&](ProgramBuilder &builder) {
      addLoop(builder, outer);
      addLoop(builder, inner);
      if (!isEmpty)
        builder.addKernel(std::string(100000, 'k'), {});
      endLoop(builder);
      endLoop(builder);
    });
  };
  std::string error = "a program: the loops of task \"step\" make more than 10000000 instructions, or more than "
                      "2147483648 bytes of them";
  EXPECT_EQ(getError(build(1, 3, false)), "");
  EXPECT_EQ(getError(build(1000, 1000, false)), error);
  EXPECT_EQ(getError(build(100000, 100000, true)), error);
  EXPECT_EQ(getError(build(~uint64_t(0), ~uint64_t(0), true)), error);
}

} // namespace
