//===- OperandVersionsTest.cpp - operands that products share -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows random instructions on an arena of 64-byte cells, which know when they were written last.
//
//===----------------------------------------------------------------------===//

#include "runtime/execute/OperandVersions.h"
#include "test/unit/Random.h"
#include <gtest/gtest.h>
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr uint64_t kCell = 64;
constexpr int64_t kCells = 12;

/// A range of cells as a buffer of its own.
uint32_t addBuffer(Program &program, int64_t cell, int64_t cells) {
  Buffer *buffer = program.add_buffers();
  buffer->set_offset(cell * kCell);
  buffer->set_bytes(cells * kCell);
  return program.buffers_size() - 1;
}

} // namespace

TEST(OperandVersions, ProductsOfOneNumberReadTheSame) {
  int numShared = 0;
  for (int64_t round = 0; round != 500; ++round) {
    Random random(static_cast<uint64_t>(round));
    SCOPED_TRACE(random.describe(round));
    Program program;
    OperandVersions versions(program);
    versions.begin(0);
    /// When each cell was written last, by the number of the instruction.
    std::vector<int64_t> written(kCells, -1);
    using Content = std::vector<int64_t>;
    std::map<uint64_t, Content> contents;
    int64_t sequence = 0;
    for (int64_t at = 0; at != 60; ++at) {
      auto pick = [&] {
        int64_t cells = random.pick(1, 3), cell = random.pick(0, kCells - cells);
        return std::pair(cell, cells);
      };
      auto [cell, cells] = pick();
      auto [target, targets] = pick();
      Instruction instruction;
      uint32_t from = addBuffer(program, cell, cells), to = addBuffer(program, target, targets);
      if (random.chance(60)) {
        instruction.mutable_matmul()->set_lhs(from);
        instruction.mutable_matmul()->set_rhs(from);
        instruction.mutable_matmul()->set_out(to);
      } else if (random.chance(80)) {
        instruction.mutable_kernel()->add_arguments(to);
        instruction.mutable_kernel()->set_outputs(1);
      } else {
        // Waits write at any time, and so do instructions between two sequences.
        if (random.chance(50))
          instruction.mutable_wait();
        else
          versions.begin(0);
        ++sequence;
      }
      uint64_t number = versions.next(instruction);
      ASSERT_EQ(number != 0, instruction.has_matmul());
      if (number != 0) {
        Content content = {sequence, cell};
        content.insert(content.end(), written.begin() + cell, written.begin() + cell + cells);
        auto [known, isNew] = contents.try_emplace(number, content);
        ASSERT_EQ(known->second, content) << "instruction " << at;
        numShared += !isNew;
      }
      if (instruction.has_matmul() || instruction.has_kernel())
        std::fill_n(written.begin() + target, targets, at);
    }
  }
  EXPECT_GT(numShared, 500);
}

TEST(OperandVersions, LoopsOfFewProductsShareAllOperands) {
  Program program;
  OperandVersions versions(program);
  versions.begin(0);
  std::vector<uint64_t> first;
  for (int iteration = 0; iteration != 3; ++iteration)
    for (int64_t i = 0; i != 8; ++i) {
      Instruction instruction;
      instruction.mutable_matmul()->set_rhs(addBuffer(program, i, 1));
      instruction.mutable_matmul()->set_out(addBuffer(program, 8 + i % 4, 1));
      uint64_t number = versions.next(instruction);
      if (iteration == 0)
        first.push_back(number);
      EXPECT_EQ(number, first[i]);
    }
}
