//===- ParallelLoopsTest.cpp - loops that threads share -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets random loops of kernels on an arena of 64-byte cells: once in order, and once as threads would, with their
// instructions interleaved at random and with copies of the private places that begin as garbage. Both must leave the
// same arena. Loops made by hand show which are shared and which are not.
//
//===----------------------------------------------------------------------===//

#include "runtime/execute/ParallelLoops.h"
#include "ProgramBuilder.h"
#include "meshwright/runtime/Slots.h"
#include "test/unit/Random.h"
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr uint64_t kCell = 64;

/// A task that is a loop, for tests to fill.
class LoopProgram {
public:
  explicit LoopProgram(uint32_t count) : count(count) { program.add_tasks()->set_name("step"); }

  /// A kernel in each iteration; its arguments are cells, with those that they move on by.
  struct Place {
    int64_t cell = 0, step = 0, cells = 1;
  };
  using Body = std::vector<std::pair<std::vector<Place>, Place>>;

  void add(const Body &body) {
    ExpandedLoop *loop = getTask().add_loops();
    loop->set_begin(static_cast<uint32_t>(getTask().instructions_size()));
    loop->set_length(static_cast<uint32_t>(body.size()));
    loop->set_count(count);
    for (uint32_t i = 0; i != count; ++i)
      for (const auto &[reads, write] : body) {
        Kernel *kernel = getTask().add_instructions()->mutable_kernel();
        for (const Place &read : reads)
          kernel->add_arguments(addBuffer(read, i));
        kernel->add_arguments(addBuffer(write, i));
        kernel->set_outputs(1);
      }
  }

  std::vector<ParallelLoop> find(uint32_t numThreads) const {
    return findParallelLoops(program, program.tasks(0), 0, numThreads);
  }

  Program program;
  Task &getTask() { return *program.mutable_tasks(0); }

private:
  uint32_t addBuffer(const Place &place, uint32_t iteration) {
    Buffer *buffer = program.add_buffers();
    buffer->set_offset(static_cast<uint64_t>(place.cell + place.step * iteration) * kCell);
    buffer->set_bytes(static_cast<uint64_t>(place.cells) * kCell);
    buffer->set_dtype(F32);
    buffer->add_shape(place.cells * static_cast<int64_t>(kCell) / 4);
    return static_cast<uint32_t>(program.buffers_size() - 1);
  }

  uint32_t count;
};

using Place = LoopProgram::Place;

/// Cells of memory, and the kernel: each cell that is written mixes all that is read.
using Cells = std::vector<uint64_t>;

template <typename Find> void run(const Program &program, const Instruction &instruction, Find &&find) {
  uint64_t hash = 1469598103934665603u;
  uint32_t numReads = 0;
  forEachAccess(instruction, [&](uint32_t number, bool isWrite) {
    const Buffer &buffer = program.buffers(static_cast<int>(number));
    for (uint64_t i = 0; i != buffer.bytes() / kCell; ++i) {
      uint64_t &cell = find(buffer, i);
      hash = (hash ^ (isWrite ? i : cell + ++numReads)) * 1099511628211u;
      if (isWrite)
        cell = hash;
    }
  });
}

Cells runInOrder(const LoopProgram &loop, Cells cells) {
  for (const Instruction &instruction : loop.program.tasks(0).instructions())
    run(loop.program, instruction,
        [&](const Buffer &buffer, uint64_t i) -> uint64_t & { return cells[buffer.offset() / kCell + i]; });
  return cells;
}

/// Takes the next instruction of a random thread until none has one left.
Cells runShared(const LoopProgram &loop, const ParallelLoop &shared, Cells cells, Random &random) {
  size_t numThreads = shared.parts.size() - 1;
  std::vector<Cells> copies(numThreads, Cells(shared.places.getBytes() / kCell + 1));
  for (Cells &copy : copies)
    for (uint64_t &cell : copy)
      cell = static_cast<uint64_t>(random.pick(1, 1000000));
  std::vector<uint32_t> next(shared.parts.begin(), shared.parts.end() - 1);
  std::vector<size_t> busy(numThreads);
  for (size_t i = 0; i != numThreads; ++i)
    busy[i] = i;
  while (!busy.empty()) {
    size_t chosen = static_cast<size_t>(random.pick(0, static_cast<int64_t>(busy.size()) - 1)), thread = busy[chosen];
    if (next[thread] == shared.parts[thread + 1]) {
      busy.erase(busy.begin() + static_cast<int64_t>(chosen));
      continue;
    }
    run(loop.program, loop.program.tasks(0).instructions(static_cast<int>(next[thread]++)),
        [&](const Buffer &buffer, uint64_t i) -> uint64_t & {
          std::optional<uint64_t> place = thread + 1 == numThreads ? std::nullopt : shared.places.find(buffer.offset());
          return place ? copies[thread][*place / kCell + i] : cells[buffer.offset() / kCell + i];
        });
  }
  return cells;
}

TEST(ParallelLoops, RandomLoopsLeaveWhatTheyLeaveInOrder) {
  constexpr int64_t numCells = 48;
  int numShared = 0, numPrivate = 0, numAlone = 0;
  for (int64_t round = 0; round != 4000; ++round) {
    Random random(static_cast<uint64_t>(round));
    SCOPED_TRACE(random.describe(round));
    auto count = static_cast<uint32_t>(random.pick(2, 6));
    auto pickPlace = [&] {
      Place place{0, random.chance(40) ? random.pick(-2, 3) : 0, random.pick(1, 2)};
      int64_t first = std::max<int64_t>(0, -place.step * (count - 1));
      int64_t last = numCells - place.cells - std::max<int64_t>(0, place.step * (count - 1));
      place.cell = random.pick(first, last);
      return place;
    };
    // Few places, so that instructions meet.
    std::vector<Place> places;
    for (int i = 0; i != 4; ++i)
      places.push_back(pickPlace());
    LoopProgram::Body body;
    for (int64_t i = random.pick(1, 4); i != 0; --i) {
      std::vector<Place> reads;
      for (int64_t j = random.pick(0, 2); j != 0; --j)
        reads.push_back(random.choose(places));
      body.push_back({reads, random.choose(places)});
    }
    LoopProgram loop(count);
    loop.add(body);
    std::vector<ParallelLoop> found = loop.find(static_cast<uint32_t>(random.pick(2, 4)));
    if (found.empty()) {
      ++numAlone;
      continue;
    }
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].getBegin(), 0u);
    EXPECT_EQ(found[0].getEnd(), static_cast<uint32_t>(loop.getTask().instructions_size()));
    ++numShared;
    numPrivate += found[0].places.getBytes() != 0;
    Cells cells(numCells);
    for (uint64_t &cell : cells)
      cell = static_cast<uint64_t>(random.pick(1, 1000000));
    EXPECT_EQ(runInOrder(loop, cells), runShared(loop, found[0], cells, random));
  }
  EXPECT_GT(numShared, 400);
  EXPECT_GT(numPrivate, 200);
  EXPECT_GT(numAlone, 400);
}

/// The number of private bytes of the only shared loop; nothing if there is none.
std::optional<uint64_t> getPrivateBytes(const LoopProgram &loop, uint32_t numThreads = 2) {
  std::vector<ParallelLoop> found = loop.find(numThreads);
  return found.size() == 1 ? std::optional(found[0].places.getBytes()) : std::nullopt;
}

std::optional<uint64_t> share(uint32_t count, const LoopProgram::Body &body, uint32_t numThreads = 2) {
  LoopProgram loop(count);
  loop.add(body);
  return getPrivateBytes(loop, numThreads);
}

TEST(ParallelLoops, IterationsThatNeedNothingOfEachOtherAreShared) {
  Place input{0, 1}, temporary{20}, output{30, 1};
  EXPECT_EQ(share(4, {{{input}, output}}), 0u);
  EXPECT_EQ(share(4, {{{input}, temporary}, {{temporary}, output}}), kCell);
  // A sum over the iterations, and a value of the one before.
  EXPECT_EQ(share(4, {{{input, temporary}, temporary}}), std::nullopt);
  EXPECT_EQ(share(4, {{{Place{29, 1}}, output}}), std::nullopt);
  // A temporary of which one half is written.
  EXPECT_EQ(share(4, {{{input}, temporary}, {{Place{20, 0, 2}}, output}}), std::nullopt);
  EXPECT_EQ(share(4, {{{input}, Place{20, 0, 2}}, {{Place{21, 0, 2}}, output}}), std::nullopt);
  EXPECT_EQ(share(4, {{{}, Place{20}}, {{}, Place{21}}, {{Place{20, 0, 2}}, output}}), 2 * kCell);
}

TEST(ParallelLoops, ThreadsHaveAboutAsManyIterations) {
  LoopProgram::Body body = {{{}, Place{0, 1}}};
  EXPECT_EQ(share(3, body, 4), std::nullopt);
  EXPECT_EQ(share(4, body, 4), 0u);
  EXPECT_EQ(share(5, body, 4), std::nullopt);
  EXPECT_EQ(share(17, body, 4), 0u);
  EXPECT_EQ(share(4, body, 1), std::nullopt);
}

TEST(ParallelLoops, TheLastIterationLeavesAllThatLoopsLeave) {
  // Places whose last writer is another iteration than the last.
  LoopProgram loop(2);
  loop.add({{{}, Place{0}}});
  Buffer &last = *loop.program.mutable_buffers(1);
  EXPECT_EQ(getPrivateBytes(loop), kCell);
  last.set_offset(kCell);
  EXPECT_EQ(getPrivateBytes(loop), 0u);
  LoopProgram three(4);
  three.add({{{}, Place{0}}});
  three.program.mutable_buffers(3)->set_offset(kCell);
  EXPECT_EQ(getPrivateBytes(three), std::nullopt);
}

TEST(ParallelLoops, BytesThatAProductLeavesOutStay) {
  auto build = [](int64_t columns) {
    LoopProgram loop(2);
    loop.add({{{Place{0}, Place{1}}, Place{2}}});
    for (Instruction &instruction : *loop.getTask().mutable_instructions()) {
      Kernel kernel = instruction.kernel();
      Matmul *matmul = instruction.mutable_matmul();
      matmul->set_lhs(kernel.arguments(0));
      matmul->set_rhs(kernel.arguments(1));
      matmul->set_out(kernel.arguments(2));
      matmul->set_out_dtype(F32);
      matmul->set_m(4);
      matmul->set_n(columns);
      matmul->set_k(1);
    }
    return getPrivateBytes(loop);
  };
  EXPECT_EQ(build(4), kCell);
  EXPECT_EQ(build(2), std::nullopt);
}

TEST(ParallelLoops, OnlyWorkOfOneThreadIsShared) {
  LoopProgram loop(2);
  loop.add({{{}, Place{0, 1}}});
  loop.program.mutable_buffers(0)->set_memory(HOST);
  EXPECT_EQ(getPrivateBytes(loop), std::nullopt);
  loop.program.mutable_buffers(0)->set_memory(DEVICE);
  EXPECT_EQ(getPrivateBytes(loop), 0u);
  loop.getTask().mutable_instructions(0)->mutable_collective()->set_kind(Collective::ALL_REDUCE);
  EXPECT_EQ(getPrivateBytes(loop), std::nullopt);
}

TEST(ParallelLoops, InnerLoopsAreSharedWhereOuterOnesAreNot) {
  // Two iterations around four: a sum over the outer ones.
  LoopProgram loop(4);
  ExpandedLoop *outer = loop.getTask().add_loops();
  outer->set_length(5);
  outer->set_count(2);
  LoopProgram sum(1);
  for (int i = 0; i != 2; ++i) {
    loop.add({{{}, Place{0, 1}}});
    Instruction *instruction = loop.getTask().add_instructions();
    Buffer *buffer = loop.program.add_buffers();
    buffer->set_offset(20 * kCell);
    buffer->set_bytes(kCell);
    for (int argument = 0; argument != 2; ++argument)
      instruction->mutable_kernel()->add_arguments(static_cast<uint32_t>(loop.program.buffers_size() - 1));
    instruction->mutable_kernel()->set_outputs(1);
  }
  std::vector<ParallelLoop> found = loop.find(2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].parts, (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(found[1].parts, (std::vector<uint32_t>{5, 7, 9}));
  // Without it, the outer loop.
  for (int i : {4, 9}) {
    loop.getTask().mutable_instructions(i)->mutable_kernel()->mutable_arguments()->RemoveLast();
    loop.program.mutable_buffers(static_cast<int>(loop.getTask().instructions(i).kernel().arguments(0)))
        ->add_shape(static_cast<int64_t>(kCell) / 4);
    loop.program.mutable_buffers(static_cast<int>(loop.getTask().instructions(i).kernel().arguments(0)))
        ->set_dtype(F32);
  }
  found = loop.find(2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].parts, (std::vector<uint32_t>{0, 5, 10}));
}

} // namespace
