//===- HostMemoryTest.cpp - variables in the memory of the host -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes a hand-made package with variables in the memory of the host, one field at a time, and checks that the loader
// rejects every program in which an instruction accesses memory of a copy in flight. Runs the queue of copies with
// modelled links.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "meshwright/runtime/Package.h"
#include "meshwright/runtime/SchemaVersion.h"
#include "runtime/devices/cpu/CopyQueue.h"
#include "runtime/simulate/StepSimulator.h"
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// One rank, whose host keeps m and n: n becomes m. Buffers: 0 m and 1 n on the host, 2 and 3 on the device.
/// Instructions: 0 start of a fetch of m to 2, 1 wait, 2 copy to 3, 3 start of a write-back to n, 4 wait.
static meshwright::Package makePackage() {
  meshwright::Package package;
  package.set_version(runtime::schemaVersion);
  package.set_accumulation_steps(1);
  for (const char *name : {"m", "n"}) {
    Variable *variable = package.add_variables();
    describe(variable, name, {16});
    variable->mutable_init();
  }
  package.add_program_of_rank(0);
  Program &program = *package.add_programs();
  ProgramBuilder builder(program);
  builder.addTask("step");
  for (const char *name : {"m", "n", "fetched", "new"})
    builder.addBuffer(name, {16});
  for (int index = 0; index != 4; ++index) {
    Buffer &buffer = *program.mutable_buffers(index);
    buffer.set_memory(index < 2 ? HOST : DEVICE);
    buffer.set_offset(index % 2 * 64);
    buffer.set_bytes(64);
  }
  program.set_arena_bytes(128);
  program.set_host_arena_bytes(128);
  for (int32_t index : {0, 1})
    program.add_variable_buffers(index);
  auto addCopy = [&](uint32_t from, uint32_t to, std::optional<uint32_t> tag) {
    Copy *copy = builder.add("copy")->mutable_copy();
    copy->set_from(from);
    copy->set_to(to);
    copy->set_start(tag.has_value());
    copy->set_tag(tag.value_or(0));
  };
  addCopy(0, 2, 0);
  builder.add("copy")->mutable_copy_wait()->set_tag(0);
  addCopy(2, 3, std::nullopt);
  addCopy(3, 1, 1);
  builder.add("copy")->mutable_copy_wait()->set_tag(1);
  ScheduleItem *item = program.add_schedule();
  item->set_end_step(1);
  return package;
}

/// The error of opening the package with a change made to its program; empty if there is none.
static std::string getError(const std::function<void(Program &)> &change) {
  meshwright::Package package = makePackage();
  change(*package.mutable_programs(0));
  auto opened = LoadedPackage::create(package, "p", std::nullopt);
  if (opened.ok())
    return "";
  EXPECT_EQ(opened.status().code(), Code::Input);
  return opened.status().message();
}

static Instruction &get(Program &program, int index) { return *program.mutable_tasks(0)->mutable_instructions(index); }

static bool contains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
  return text.find(part) != std::string::npos;
}

TEST(HostMemory, GoodPackageIsOpened) {
  EXPECT_EQ(getError([](Program &) {}), "");
}

TEST(HostMemory, BuffersLieInTheirArena) {
  contains(getError([](Program &p) { p.set_host_arena_bytes(64); }),
           "buffer 1: 64 bytes at offset 64 do not lie in the arena of 64 bytes");
  contains(getError([](Program &p) { p.mutable_buffers(1)->set_offset(32); }),
           "the variable or constant \"n\" begins at offset 32 but the one before it ends at 64");
  contains(getError([](Program &p) { p.mutable_buffers(1)->set_memory(static_cast<Memory>(7)); }),
           "buffer 1: memory 7 is unknown");
  contains(getError([](Program &p) { p.set_host_arena_bytes(uint64_t(1) << 63); }), "an arena has 9223372036854775808");
}

TEST(HostMemory, NothingComputesThere) {
  contains(getError([](Program &p) {
             Kernel *kernel = get(p, 2).mutable_kernel();
             kernel->set_symbol("k");
             kernel->add_arguments(0);
           }),
           "buffer 0 is in the memory of the host, from and to which only copies go");
  contains(getError([](Program &p) {
             Collective *collective = get(p, 2).mutable_collective();
             collective->set_dtype(F32);
             CollectivePart *part = collective->add_parts();
             part->set_count(16);
             part->set_in(1);
             part->set_out(1);
           }),
           "buffer 1 is in the memory of the host");
}

TEST(HostMemory, StartsAreWaitedFor) {
  contains(getError([](Program &p) { get(p, 4).mutable_copy_wait()->set_tag(7); }),
           "waits for copy #7, which is not started before it");
  contains(getError([](Program &p) { get(p, 3).mutable_copy()->set_tag(0); }), "two copies have the tag 0");
  contains(getError([](Program &p) { p.mutable_tasks(0)->mutable_instructions()->RemoveLast(); }),
           "copy #1 is started and not waited for in its task");
  contains(getError([](Program &p) { get(p, 4).mutable_copy_wait()->set_tag(0); }),
           "copy #0 is waited for and not in flight");
  contains(getError([](Program &p) {
             get(p, 2).mutable_copy()->set_start(true);
             get(p, 2).mutable_copy()->set_tag(2);
           }),
           "is started, but both are in one memory");
}

TEST(HostMemory, NobodyTouchesWhatIsInFlight) {
  auto swap = [](Program &p, int first, int second) {
    p.mutable_tasks(0)->mutable_instructions()->SwapElements(first, second);
  };
  contains(getError([&](Program &p) { swap(p, 1, 2); }), "buffer 2 is read while copy #0 writes it");
  contains(getError([&](Program &p) {
             get(p, 2).mutable_copy()->set_from(3);
             get(p, 2).mutable_copy()->set_to(2);
             swap(p, 1, 2);
           }),
           "buffer 2 is written while copy #0 writes it");
  // The old value is still being fetched.
  contains(getError([&](Program &p) {
             get(p, 3).mutable_copy()->set_to(0);
             swap(p, 1, 3);
           }),
           "buffer 0 is written while copy #0 reads it");
  contains(getError([&](Program &p) {
             Collective *collective = get(p, 2).mutable_collective();
             collective->set_dtype(F32);
             CollectivePart *part = collective->add_parts();
             part->set_count(16);
             part->set_in(2);
             part->set_out(3);
             swap(p, 1, 2);
           }),
           "buffer 2 is read while copy #0 writes it");
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

TEST(CopyQueue, CopiesTakePlaceInTheOrderOfIssue) {
  constexpr size_t count = 100;
  std::vector<int> values(count + 1);
  std::iota(values.begin(), values.end(), 0);
  CopyQueue queue(std::nullopt);
  auto address = [&](size_t i) { return reinterpret_cast<std::byte *>(&values[i]); };
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i != count; ++i) {
    auto number = queue.prepare(address(i + 1), address(i), sizeof(int));
    ASSERT_TRUE(number.ok());
    numbers.push_back(*number);
  }
  // Each takes what the one before has made.
  for (int step = 0; step != 20; ++step) {
    values[0] = 1000 + step;
    for (uint32_t number : numbers)
      EXPECT_TRUE(queue.start(number).ok());
    EXPECT_TRUE(queue.wait(numbers.back()).ok());
    EXPECT_EQ(values, std::vector<int>(count + 1, 1000 + step));
  }
}

TEST(CopyQueue, ALinkDelaysCopiesOneAfterTheOther) {
  std::vector<std::byte> from(1000), to(1000);
  CopyQueue queue(LinkModel{0.01, 1e5}); // 20 ms each
  std::vector<uint32_t> numbers;
  for (int i = 0; i != 3; ++i) {
    auto number = queue.prepare(to.data(), from.data(), from.size());
    ASSERT_TRUE(number.ok());
    numbers.push_back(*number);
  }
  auto begin = std::chrono::steady_clock::now();
  for (uint32_t number : numbers)
    EXPECT_TRUE(queue.start(number).ok());
  queue.finish();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
}

TEST(CopyQueue, NoLinkDelaysCopiesThatAreMeasured) {
  std::vector<std::byte> from(1000), to(1000);
  CopyQueue queue(LinkModel{1e4, 1e9});
  auto number = queue.prepare(to.data(), from.data(), from.size());
  ASSERT_TRUE(number.ok());
  queue.setProfiling(true);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(queue.start(*number).ok());
  queue.finish();
  // The link takes almost three hours, the copy less than a machine can be late.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::hours(1));
}

TEST(StepSimulator, CopiesTravelBesideCollectivesAndInBothDirections) {
  using Item = SimulatedItem;
  // Group 0 is of collectives, 1 of fetches, 2 of write-backs. Each takes 2 s on its link.
  StepProblem problem{4, {1, 1, 1}, {{}}};
  problem.ranks[0] = {{Item::Start, 0, 0, 2},
                      {Item::Start, 0, 1, 2, Channel::Fetches},
                      {Item::Start, 0, 1, 2, Channel::Fetches},
                      {Item::Start, 0, 2, 2, Channel::WriteBacks},
                      {Item::Compute, 1},
                      {Item::Wait, 0, 0, 0, Channel::Fetches},
                      {Item::Wait, 0, 0, 0, Channel::WriteBacks},
                      {Item::Wait, 0, 0},
                      {Item::Wait, 0, 1, 0, Channel::Fetches}};
  auto spans = simulate(problem);
  ASSERT_TRUE(spans.ok());
  double end = 0;
  for (const SimulatedSpan &span : *spans)
    end = std::max(end, span.end);
  EXPECT_EQ(end, 4);
}
