//===- VerifyTest.cpp - proofs about packages made by hand ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves hand-made packages and checks findings after single changes: reads of unwritten or overwritten memory,
// accesses to transfers in flight, orders of collectives that differ or deadlock.
//
//===----------------------------------------------------------------------===//

#include "meshwright/verify/Verify.h"
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::verify;

namespace {

testing::AssertionResult contains(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << part << "\" is not in\n" << text;
}

/// A package of ranks that all run one program: a variable of 64 bytes, an input of 64, and what tests add.
class VerifyTest : public ::testing::Test {
protected:
  VerifyTest() {
    package.set_version(8);
    addAxis("dp", 2);
    Variable &variable = *package.add_variables();
    variable.set_name("w");
    variable.set_dtype(F32);
    variable.add_shape(16);
    *package.add_inputs() = [] {
      Port port;
      port.set_name("x");
      port.set_dtype(F32);
      port.add_shape(16);
      return port;
    }();
    Program &added = *package.add_programs();
    added.set_arena_bytes(1024);
    added.set_persistent_bytes(64);
    added.add_variable_buffers(static_cast<int>(addBuffer(0)));
    added.add_input_buffers(static_cast<int>(addBuffer(64)));
    added.add_tasks()->set_name("step");
    added.add_schedule()->set_end_step(1);
  }

  Program &program(int number = 0) { return *package.mutable_programs(number); }
  Task &task() { return *program().mutable_tasks(0); }

  void addAxis(const std::string &name, int64_t size) {
    Axis &axis = *package.add_axes();
    axis.set_name(name);
    axis.set_size(size);
    int64_t ranks = 1;
    for (const Axis &each : package.axes())
      ranks *= each.size();
    while (package.program_of_rank_size() < ranks)
      package.add_program_of_rank(0);
  }

  uint32_t addBuffer(uint64_t offset, int64_t elements = 16, DType type = F32, uint64_t size = 4) {
    Buffer &buffer = *program().add_buffers();
    buffer.set_offset(offset);
    buffer.set_bytes(static_cast<uint64_t>(elements) * size);
    buffer.set_dtype(type);
    buffer.add_shape(elements);
    return static_cast<uint32_t>(program().buffers_size() - 1);
  }

  Instruction &addKernel(std::vector<uint32_t> reads, std::vector<uint32_t> writes, Task *to = nullptr) {
    Instruction &instruction = *(to ? *to : task()).add_instructions();
    instruction.set_name("k");
    instruction.mutable_kernel()->set_symbol("k");
    for (uint32_t buffer : reads)
      instruction.mutable_kernel()->add_arguments(buffer);
    for (uint32_t buffer : writes)
      instruction.mutable_kernel()->add_arguments(buffer);
    instruction.mutable_kernel()->set_outputs(static_cast<uint32_t>(writes.size()));
    return instruction;
  }

  Collective &addCollective(uint32_t in, uint32_t out, uint32_t tag, bool start, int of = 0) {
    Instruction &instruction = *program(of).mutable_tasks(0)->add_instructions();
    instruction.set_name("c");
    Collective &collective = *instruction.mutable_collective();
    collective.set_kind(Collective::ALL_REDUCE);
    collective.add_axes(0);
    collective.set_dtype(F32);
    collective.set_tag(tag);
    collective.set_start(start);
    CollectivePart &part = *collective.add_parts();
    part.set_count(16);
    part.set_in(in);
    part.set_out(out);
    return collective;
  }
  void addWait(uint32_t tag, int of = 0) {
    program(of).mutable_tasks(0)->add_instructions()->mutable_wait()->set_tag(tag);
  }

  /// Gives rank 1 a copy of the program.
  void split() {
    Program copy = package.programs(0);
    *package.add_programs() = copy;
    package.set_program_of_rank(1, 1);
  }

  Report verify() { return verifyPackage(package, 0); }

  void expectFinding(Property property, const std::string &text) {
    Report report = verify();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(getName(report.findings[0].property), std::string(getName(property)));
    EXPECT_TRUE(contains(formatText(report), text));
  }

  Package package;
};

TEST_F(VerifyTest, ProvesAStep) {
  uint32_t a = addBuffer(128), b = addBuffer(192), c = addBuffer(128);
  addKernel({0, 1}, {a});
  addCollective(a, b, 0, true);
  addWait(0);
  addKernel({b}, {c});
  addKernel({c, 0}, {0});
  Report report = verify();
  EXPECT_TRUE(report.ok()) << formatText(report);
  EXPECT_EQ(report.collectives, 1u);
  EXPECT_EQ(report.programs[0].launches, 1u);
  EXPECT_EQ(report.programs[0].device.highest, 256u);
  // 64 that persist; the input, a and b at the collective.
  EXPECT_EQ(report.programs[0].device.live, 192u);
  EXPECT_TRUE(report.programs[0].unread.empty());
}

TEST_F(VerifyTest, CountsLiveBytes) {
  uint32_t a = addBuffer(128), b = addBuffer(192), c = addBuffer(256);
  addKernel({1}, {a});
  addKernel({a}, {b});
  addKernel({a, b}, {c});
  // In the place of an operand.
  addKernel({c, 0}, {0});
  Report report = verify();
  ASSERT_TRUE(report.ok()) << formatText(report);
  // The variable, a, b and c.
  EXPECT_EQ(report.programs[0].device.live, 256u);
  EXPECT_EQ(report.programs[0].device.where.instruction, 2);
}

TEST_F(VerifyTest, ReadsWhatNothingWrote) {
  uint32_t a = addBuffer(128), b = addBuffer(192);
  addKernel({a}, {b});
  expectFinding(Property::Definition, "reads bytes [128, 192) of buffer 2, which nothing has written in this step");
}

TEST_F(VerifyTest, ReadsPartOfWhatIsWritten) {
  uint32_t a = addBuffer(128, 8), whole = addBuffer(128), b = addBuffer(192);
  addKernel({1}, {a});
  addKernel({whole}, {b});
  expectFinding(Property::Definition, "reads bytes [160, 192) of buffer 3, which nothing has written");
}

TEST_F(VerifyTest, ViewsAreRead) {
  uint32_t whole = addBuffer(128), low = addBuffer(128, 8), high = addBuffer(160, 8), b = addBuffer(192, 8);
  addKernel({1}, {whole});
  addKernel({low, high}, {b});
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, ConcatenationsAreRead) {
  uint32_t whole = addBuffer(128), low = addBuffer(128, 8), high = addBuffer(160, 8), b = addBuffer(192);
  addKernel({1}, {low});
  addKernel({1}, {high});
  addKernel({whole}, {b});
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, ReadsWhatIsOverwritten) {
  uint32_t a = addBuffer(128), b = addBuffer(128), c = addBuffer(192);
  addKernel({1}, {a});
  addKernel({1}, {b});
  addKernel({a, b}, {c});
  expectFinding(Property::Definition, "of buffer 2, which instruction 1 of task \"step\" (\"k\") has overwritten "
                                      "through buffer 3 since instruction 0 of task \"step\" (\"k\")");
}

TEST_F(VerifyTest, ReadsAVariableAfterItsUpdateInPlace) {
  uint32_t updated = addBuffer(0), c = addBuffer(192);
  addKernel({0, 1}, {updated});
  addKernel({0}, {c});
  expectFinding(Property::Definition, "has overwritten through buffer 2 since a variable in buffer 0");
}

TEST_F(VerifyTest, ReadsAnotherType) {
  uint32_t a = addBuffer(128), view = addBuffer(128, 16, I32), b = addBuffer(192);
  addKernel({1}, {a});
  addKernel({view}, {b});
  expectFinding(Property::Definition, "as I32, which instruction 0");
}

TEST_F(VerifyTest, ReadsAcrossTheBorderOfAnotherValue) {
  uint32_t a = addBuffer(128), view = addBuffer(160), b = addBuffer(320), c = addBuffer(192);
  addKernel({1}, {a});
  addKernel({1}, {c});
  addKernel({view}, {b});
  expectFinding(Property::Definition, "of which it is no part");
}

TEST_F(VerifyTest, WritesBeyondAVariable) {
  uint32_t a = addBuffer(32);
  addKernel({1}, {a});
  expectFinding(Property::Definition, "more than the variable in buffer 0 at [0, 64)");
}

TEST_F(VerifyTest, StridedProductsTouchTheirRunsAlone) {
  // Two products write the halves of each row; a third reads all of it.
  uint32_t whole = addBuffer(128), left = addBuffer(128, 14), right = addBuffer(136, 14), out = addBuffer(256, 4);
  auto multiply = [&](uint32_t to) {
    Matmul &matmul = *task().add_instructions()->mutable_matmul();
    matmul.set_lhs(0);
    matmul.set_rhs(1);
    matmul.set_out(to);
    matmul.set_lhs_dtype(F32);
    matmul.set_rhs_dtype(F32);
    matmul.set_out_dtype(F32);
    matmul.set_m(4);
    matmul.set_n(2);
    matmul.set_k(2);
    for (int64_t stride : {2, 1})
      matmul.add_lhs_strides(stride), matmul.add_rhs_strides(stride);
    for (int64_t stride : {4, 1})
      matmul.add_out_strides(stride);
  };
  multiply(left);
  addKernel({whole}, {out});
  expectFinding(Property::Definition, "reads bytes [136, 144) of buffer 2, which nothing has written");
  task().clear_instructions();
  multiply(left);
  multiply(right);
  addKernel({whole}, {out});
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, AccumulatorsHaveNothingBeforeAnAccumulation) {
  package.set_accumulation_steps(2);
  package.mutable_variables(0)->set_kind(Variable::ACCUMULATOR);
  addKernel({0, 1}, {0});
  program().mutable_schedule(0)->set_end_step(2);
  expectFinding(Property::Definition, "reads bytes [0, 64) of buffer 0, which nothing has written");
  // The first step sets it, the second one adds.
  Task first = task();
  first.mutable_instructions(0)->mutable_kernel()->set_arguments(0, 1);
  *program().add_tasks() = first;
  program().mutable_schedule(0)->set_first_step(1);
  ScheduleItem &item = *program().add_schedule();
  item.set_task(1);
  item.set_end_step(1);
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, SlotsHoldTheirMicroBatch) {
  package.set_micro_batches(3);
  uint32_t a = addBuffer(128), b = addBuffer(512);
  program().mutable_buffers(static_cast<int>(a))->set_slots(2);
  program().mutable_buffers(static_cast<int>(a))->set_slot_bytes(64);
  addKernel({1}, {a});
  Task &second = *program().add_tasks();
  second.set_name("second");
  second.set_action(1);
  addKernel({a}, {b}, &second);
  auto schedule = [&](std::vector<std::pair<uint32_t, uint32_t>> items) {
    program().clear_schedule();
    for (auto [task, microBatch] : items) {
      ScheduleItem &item = *program().add_schedule();
      item.set_task(task);
      item.set_micro_batch(microBatch);
      item.set_end_step(1);
    }
  };
  schedule({{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}, {1, 2}});
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  schedule({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
  expectFinding(Property::Definition, "for micro-batch 0, which instruction 0 of task \"step\" (\"k\" for micro-batch "
                                      "2) wrote for micro-batch 2");
  schedule({{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  expectFinding(Property::Structure, "is done for 2 of 3 micro-batches");
}

TEST_F(VerifyTest, ReadsTheResultOfALaunch) {
  uint32_t a = addBuffer(128), b = addBuffer(192), c = addBuffer(256);
  addKernel({1}, {a});
  addCollective(a, b, 7, true);
  addKernel({b}, {c});
  addWait(7);
  expectFinding(Property::Flight, "reads bytes [192, 256) of buffer 3 while all_reduce #7 (task \"step\", instruction "
                                  "1) writes them");
}

TEST_F(VerifyTest, WritesTheOperandOfALaunch) {
  uint32_t a = addBuffer(128), b = addBuffer(192), c = addBuffer(128);
  addKernel({1}, {a});
  addCollective(a, b, 7, true);
  addKernel({1}, {c});
  addWait(7);
  expectFinding(Property::Flight, "writes bytes [128, 192) of buffer 4 while all_reduce #7");
}

TEST_F(VerifyTest, WaitsForNothing) {
  addWait(3);
  expectFinding(Property::Flight, "waits for collective #3, which no action, or more than one, starts for it");
}

TEST_F(VerifyTest, NeverWaits) {
  uint32_t b = addBuffer(192);
  addCollective(1, b, 7, true);
  expectFinding(Property::Flight, "all_reduce #7 is started and never over");
}

TEST_F(VerifyTest, ResultsLieApart) {
  uint32_t a = addBuffer(128), b = addBuffer(160);
  addKernel({1}, {a, b});
  expectFinding(Property::Flight, "bytes [160, 192) of its result are also bytes of another result or operand");
}

TEST_F(VerifyTest, MembersIssueTheSame) {
  uint32_t b = addBuffer(192);
  addCollective(1, b, 0, false);
  split();
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  program(1).mutable_tasks(0)->mutable_instructions(0)->mutable_collective()->set_reduction(Collective::MAX);
  expectFinding(Property::Order,
                "ranks 1 and 0 are in one group, but rank 1 issues all_reduce #0 (MAX) of 16 elements");
}

TEST_F(VerifyTest, ARankIssuesLess) {
  uint32_t b = addBuffer(192);
  addCollective(1, b, 0, false);
  split();
  program(1).mutable_tasks(0)->clear_instructions();
  expectFinding(Property::Order, "rank 0 waits for ever for rank 1, which issues nothing more");
}

TEST_F(VerifyTest, RanksWaitForEachOther) {
  addAxis("tp", 1);
  uint32_t b = addBuffer(192), c = addBuffer(256);
  // Both send to each other before they receive.
  auto send = [&](int of, uint32_t root, bool has) {
    Collective &collective = addCollective(1, root == 0 ? b : c, root, false, of);
    collective.set_kind(Collective::SEND);
    collective.set_to(1 - root);
    collective.mutable_parts(0)->set_root(root);
    has ? collective.mutable_parts(0)->clear_out() : collective.mutable_parts(0)->clear_in();
  };
  split();
  send(0, 0, true);
  send(0, 1, false);
  send(1, 1, true);
  send(1, 0, false);
  expectFinding(Property::Order, "ranks wait for each other for ever: rank 0 waits for rank 1 in send #0");
  program(1).mutable_tasks(0)->mutable_instructions()->SwapElements(0, 1);
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, FollowsLoops) {
  uint32_t moved = addBuffer(128), whole = addBuffer(128, 64), b = addBuffer(512);
  program().mutable_buffers(static_cast<int>(moved))->add_iteration_bytes(64);
  task().add_instructions()->mutable_loop()->set_count(4);
  addKernel({1}, {moved});
  task().add_instructions()->mutable_end_loop();
  addKernel({whole}, {b});
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  task().mutable_instructions(0)->mutable_loop()->set_count(3);
  expectFinding(Property::Definition, "reads bytes [320, 384) of buffer 3, which nothing has written");
  task().mutable_instructions(0)->mutable_loop()->set_count(1u << 30);
  expectFinding(Property::Structure, "the loop has 1073741824 iterations");
}

TEST_F(VerifyTest, EvaluationKeepsWhatIsTrained) {
  Package &evaluation = *package.mutable_evaluation();
  evaluation = Package();
  Package copy = package;
  copy.clear_evaluation();
  evaluation = copy;
  uint32_t a = addBuffer(128);
  evaluation.mutable_programs(0)->mutable_buffers()->Add()->CopyFrom(program().buffers(static_cast<int>(a)));
  addKernel({1}, {a});
  *evaluation.mutable_programs(0)->mutable_tasks(0) = task();
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  evaluation.mutable_programs(0)->mutable_tasks(0)->mutable_instructions(0)->mutable_kernel()->set_arguments(1, 0);
  expectFinding(Property::Definition, "a result is written to bytes [0, 64), where training keeps the first 64");
}

TEST_F(VerifyTest, RefusesWhatItDoesNotKnow) {
  package.set_version(6);
  expectFinding(Property::Structure, "the package has schema version 6, but 8 is known");
}

TEST_F(VerifyTest, ManyRanksOfOneProgram) {
  addAxis("pp", 1024);
  uint32_t b = addBuffer(192);
  for (uint32_t tag = 0; tag != 100; ++tag)
    addCollective(1, b, tag, false);
  Report report = verify();
  EXPECT_TRUE(report.ok()) << formatText(report);
  EXPECT_EQ(report.collectives, 102400u);
}

TEST_F(VerifyTest, ProductsWithAnEpilogueAreReadOnce) {
  uint32_t product = addBuffer(128), out = addBuffer(192), later = addBuffer(256);
  Matmul &matmul = *task().add_instructions()->mutable_matmul();
  matmul.set_lhs(0);
  matmul.set_rhs(1);
  matmul.set_out(product);
  for (auto set : {&Matmul::set_lhs_dtype, &Matmul::set_rhs_dtype, &Matmul::set_out_dtype})
    (matmul.*set)(F32);
  for (auto set : {&Matmul::set_m, &Matmul::set_n, &Matmul::set_k})
    (matmul.*set)(4);
  for (int64_t stride : {4, 1})
    matmul.add_lhs_strides(stride), matmul.add_rhs_strides(stride), matmul.add_out_strides(stride);
  matmul.mutable_epilogue()->set_out(out);
  matmul.mutable_epilogue()->set_activation(Epilogue::GELU_TANH);
  addKernel({product}, {out});
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  addKernel({product, out}, {later});
  expectFinding(Property::Definition, "the result of a product whose epilogue may leave it out");
  // A preactivation in its place stays.
  task().mutable_instructions(0)->mutable_matmul()->mutable_epilogue()->set_preactivation(product);
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, CopiesBetweenMemories) {
  program().set_host_arena_bytes(64);
  uint32_t kept = addBuffer(0), a = addBuffer(128), b = addBuffer(192);
  program().mutable_buffers(static_cast<int>(kept))->set_memory(HOST);
  program().set_variable_buffers(0, static_cast<int>(kept));
  auto copy = [&](uint32_t from, uint32_t to, uint32_t tag) {
    Copy &added = *task().add_instructions()->mutable_copy();
    added.set_from(from);
    added.set_to(to);
    added.set_start(true);
    added.set_tag(tag);
  };
  copy(kept, a, 4);
  addKernel({a}, {b});
  task().add_instructions()->mutable_copy_wait()->set_tag(4);
  expectFinding(Property::Flight, "reads bytes [128, 192) of buffer 3 while copy #4 (task \"step\", instruction 0) "
                                  "writes them");
  task().mutable_instructions()->SwapElements(1, 2);
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  task().mutable_instructions(1)->mutable_copy_wait()->set_tag(5);
  expectFinding(Property::Flight, "waits for copy #5, which is not in flight");
  task().mutable_instructions()->DeleteSubrange(1, 2);
  expectFinding(Property::Flight, "copy #4 is started and not waited for in its task");
}

TEST_F(VerifyTest, OutputsAreWritten) {
  Port &port = *package.add_outputs();
  port.set_name("loss");
  port.set_dtype(F32);
  uint32_t loss = addBuffer(128, 1);
  program().add_output_buffers(static_cast<int>(loss));
  addKernel({1}, {0});
  expectFinding(Property::Definition, "output \"loss\": reads bytes [128, 132) of buffer 2, which nothing has written");
  // Outputs of updates are known after the last step of an accumulation alone.
  package.set_accumulation_steps(2);
  port.set_at_update(true);
  Task last = task();
  *last.add_instructions() = addKernel({1}, {loss});
  task().mutable_instructions()->RemoveLast();
  *program().add_tasks() = last;
  ScheduleItem &item = *program().add_schedule();
  item.set_task(1);
  item.set_first_step(1);
  item.set_end_step(2);
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, ConstantsAreNotWritten) {
  program().set_persistent_bytes(64);
  package.clear_variables();
  program().clear_variable_buffers();
  program().add_constants()->set_buffer(0);
  addKernel({1}, {0});
  Report report = verifyPackage(package, 64);
  EXPECT_TRUE(contains(formatText(report), "writes bytes [0, 64) of buffer 0, where constant buffer 0 is"));
  expectFinding(Property::Structure, "a constant has 64 bytes at 0 of constants.bin, which has 0");
}

TEST_F(VerifyTest, MembersHaveTheBuffersOfTheirPlaces) {
  uint32_t b = addBuffer(192);
  Collective &collective = addCollective(1, b, 0, false);
  collective.set_kind(Collective::REDUCE);
  // The program is that of the root and of the other one.
  expectFinding(Property::Order, "has an operand and a result for part \"\" with root 0");
  collective.set_kind(Collective::SEND);
  collective.set_to(1);
  collective.mutable_parts(0)->clear_out();
  expectFinding(Property::Order, "member 1 of send #0");
}

TEST_F(VerifyTest, DeletedResultsAreNoted) {
  uint32_t a = addBuffer(128);
  addKernel({1}, {a});
  Report report = verify();
  EXPECT_TRUE(report.ok());
  ASSERT_EQ(report.programs[0].unread.size(), 1u);
  EXPECT_TRUE(contains(formatText(report), "note: 1 instructions have results that nothing reads or keeps"));
}

TEST_F(VerifyTest, SlicesMayFillWhatPersists) {
  program().set_persistent_bytes(128);
  program().mutable_buffers(1)->set_offset(256);
  uint32_t filled = addBuffer(64), out = addBuffer(512);
  addKernel({1, filled}, {out});
  Report report = verify();
  EXPECT_TRUE(report.ok()) << formatText(report);
  EXPECT_EQ(report.programs[0].assumed.size(), 1u);
  EXPECT_TRUE(contains(formatText(report), "assumed: 1 instructions read what an earlier step left"));
}

TEST_F(VerifyTest, VariablesEndAStepInTheirPlace) {
  // The buffer is larger than the variable's array, and a result lies half in the array.
  program().mutable_buffers(0)->set_bytes(128);
  program().set_persistent_bytes(128);
  program().mutable_buffers(1)->set_offset(256);
  uint32_t across = addBuffer(32);
  addKernel({1}, {across});
  expectFinding(Property::Definition, "variable \"w\": ends the step with bytes [32, 64) that instruction 0 of task "
                                      "\"step\" (\"k\") wrote for buffer 2, which has another place");
}

TEST_F(VerifyTest, EvaluationHasTheArenasOfTraining) {
  Package copy = package;
  *package.mutable_evaluation() = copy;
  EXPECT_TRUE(verify().ok()) << formatText(verify());
  package.mutable_evaluation()->mutable_programs(0)->set_arena_bytes(2048);
  expectFinding(Property::Definition, "has arenas of 2048 and 0 bytes, where training has 1024 and 0");
}

TEST_F(VerifyTest, SendsAreIssuedByTheirEnds) {
  package.mutable_axes(0)->set_size(3);
  package.add_program_of_rank(0);
  uint32_t b = addBuffer(192);
  Collective &send = addCollective(1, b, 0, false);
  send.set_kind(Collective::SEND);
  send.set_to(1);
  send.mutable_parts(0)->clear_out();
  send.mutable_parts(0)->clear_in();
  split();
  split();
  package.set_program_of_rank(2, 2);
  auto getPart = [&](int of) {
    return program(of).mutable_tasks(0)->mutable_instructions(0)->mutable_collective()->mutable_parts(0);
  };
  getPart(0)->set_in(1);
  getPart(1)->set_out(b);
  expectFinding(Property::Order, ", but is neither of its ends");
  program(2).mutable_tasks(0)->clear_instructions();
  EXPECT_TRUE(verify().ok()) << formatText(verify());
}

TEST_F(VerifyTest, RefusesMoreEventsThanItCanFollow) {
  addAxis("pp", 4096);
  uint32_t b = addBuffer(192);
  task().add_instructions()->mutable_loop()->set_count(50000);
  addCollective(1, b, 0, false);
  task().add_instructions()->mutable_end_loop();
  expectFinding(Property::Order, "the ranks issue 409600000 collectives and waits in a step, more than 268435456");
}

TEST_F(VerifyTest, RefusesMoreInstructionsThanItCanFollow) {
  uint32_t a = addBuffer(128);
  task().add_instructions()->mutable_loop()->set_count(3'000'000);
  addKernel({1}, {a});
  addKernel({1}, {a});
  task().add_instructions()->mutable_end_loop();
  expectFinding(Property::Structure, "a step executes more than 4000000 instructions");
}

TEST_F(VerifyTest, RefusesMoreRunsThanItCanFollow) {
  constexpr int64_t rows = int64_t(1) << 21;
  program().set_arena_bytes(64 << 20);
  uint32_t lhs = addBuffer(1 << 20, rows), out = addBuffer(16 << 20, 2 * rows);
  Matmul &matmul = *task().add_instructions()->mutable_matmul();
  matmul.set_lhs(lhs);
  matmul.set_rhs(1);
  matmul.set_out(out);
  for (auto set : {&Matmul::set_lhs_dtype, &Matmul::set_rhs_dtype, &Matmul::set_out_dtype})
    (matmul.*set)(F32);
  matmul.set_m(rows);
  matmul.set_n(1);
  matmul.set_k(1);
  for (int64_t stride : {1, 1})
    matmul.add_lhs_strides(stride), matmul.add_rhs_strides(stride);
  for (int64_t stride : {2, 1})
    matmul.add_out_strides(stride);
  expectFinding(Property::Structure, "the result has 2097152 separate runs of bytes, more than 1048576");
}

TEST_F(VerifyTest, RefusesMoreVariantsThanItCanFollow) {
  package.set_accumulation_steps(65);
  program().clear_schedule();
  for (uint32_t step = 0; step != 65; ++step) {
    ScheduleItem &item = *program().add_schedule();
    item.set_first_step(step);
    item.set_end_step(step + 1);
  }
  expectFinding(Property::Structure, "the step has more variants than can be followed");
}

TEST_F(VerifyTest, StructureIsCheckedFirst) {
  uint32_t a = addBuffer(128);
  addKernel({1}, {a});
  addCollective(1, a, 0, false);
  Package right = package;
  auto check = [&](const std::function<void(Package &, Program &, Task &)> &damage, const std::string &text) {
    package = right;
    damage(package, program(), task());
    expectFinding(Property::Structure, text);
  };
  check([](Package &, Program &p, Task &) { p.set_persistent_bytes(2048); }, "2048 of them persistent, make no sense");
  check([](Package &, Program &p, Task &) { p.mutable_buffers(2)->set_offset(1000); },
        "does not lie in the arena of 1024");
  check([](Package &, Program &p, Task &) { p.mutable_buffers(2)->set_offset(130); }, "no multiple of the 4 bytes");
  check([](Package &, Program &p, Task &) { p.mutable_buffers(2)->set_shape(0, -1); }, "does not fit its 64 bytes");
  check([](Package &, Program &p, Task &) { p.mutable_buffers(2)->set_slots(2); }, "has 2 slots for 1 micro-batches");
  check([](Package &, Program &p, Task &) { p.mutable_buffers(2)->add_iteration_bytes(64); },
        "moves with 1 loops where 0");
  check([](Package &, Program &p, Task &) { p.mutable_buffers(2)->set_memory(static_cast<Memory>(9)); },
        "buffer 2 is in memory 9, which is unknown");
  check(
      [](Package &package, Program &p, Task &) {
        package.set_micro_batches(2);
        p.mutable_buffers(2)->set_slots(2);
        p.mutable_buffers(2)->set_slot_bytes(32);
      },
      "the 2 slots of buffer 2, 32 bytes apart, do not hold its 64 bytes");
  check(
      [](Package &package, Program &p, Task &) {
        *package.add_variables() = package.variables(0);
        p.set_persistent_bytes(96);
        p.mutable_buffers(1)->set_offset(256);
        p.mutable_buffers(2)->set_offset(32);
        p.add_variable_buffers(2);
      },
      "buffers 0 and 2 of variables or constants overlap");
  check([](Package &, Program &, Task &t) { t.set_runs(static_cast<Task::Runs>(9)); },
        "the task is done for micro-batches of kind 9, which is unknown");
  check(
      [](Package &package, Program &p, Task &) {
        package.set_micro_batches(2);
        p.mutable_schedule(0)->set_micro_batch(1);
      },
      "task \"step\" is done for micro-batch 1 where 0 of 2 is next");
  check([](Package &p, Program &, Task &) { p.set_accumulation_steps(2); }, "the step does nothing");
  check(
      [](Package &p, Program &, Task &) {
        Package copy = p;
        *p.mutable_evaluation() = copy;
        *p.mutable_evaluation()->mutable_evaluation() = copy;
      },
      "the evaluation has an evaluation itself");
  check(
      [](Package &, Program &, Task &t) {
        t.mutable_instructions(1)->mutable_collective()->set_kind(Collective::BROADCAST);
        t.mutable_instructions(1)->mutable_collective()->mutable_parts(0)->set_root(5);
      },
      "part \"\" has member 5 of 2 as root");
  check([](Package &, Program &p, Task &) { p.add_variable_buffers(0); },
        "gives places to 2 variables where the package has 1");
  check([](Package &, Program &p, Task &) { p.set_variable_buffers(0, 9); },
        "variable 0 is in buffer 9 where the program has 3");
  check([](Package &, Program &p, Task &) { p.set_variable_buffers(0, 2); },
        "ends at 192, after the 64 persistent bytes");
  check([](Package &, Program &p, Task &) { p.mutable_schedule(0)->set_task(1); }, "the schedule runs task 1");
  check([](Package &, Program &p, Task &) { p.mutable_schedule(0)->set_end_step(0); }, "in the steps [0, 0)");
  check([](Package &p, Program &, Task &) { p.set_program_of_rank(0, 7); }, "a rank has program 7 of 1");
  check([](Package &p, Program &, Task &) { p.add_program_of_rank(0); }, "the mesh has 2 ranks, but 3 have a program");
  check([](Package &p, Program &, Task &) { p.mutable_axes(0)->set_size(-1); }, "axis \"dp\" has size -1");
  check([](Package &, Program &, Task &t) { t.mutable_instructions(0)->mutable_kernel()->set_arguments(0, 77); },
        "names buffer 77 where the program has 3");
  check([](Package &, Program &, Task &t) { t.mutable_instructions(0)->mutable_kernel()->set_outputs(5); },
        "the kernel writes 5 of its 2 arguments");
  check([](Package &, Program &, Task &t) { t.mutable_instructions(1)->mutable_collective()->set_axes(0, 3); },
        "the group has axis 3 twice, or the mesh has 1");
  check([](Package &, Program &, Task &t) { t.mutable_instructions(1)->mutable_collective()->clear_parts(); },
        "the collective has no parts");
  check([](Package &, Program &,
           Task &t) { t.mutable_instructions(1)->mutable_collective()->mutable_parts(0)->set_count(17); },
        "reads bytes [0, 68) of buffer 1, which has 64");
  check([](Package &, Program &,
           Task &t) { t.mutable_instructions(1)->mutable_collective()->set_kind(Collective::SEND); },
        "member 0 of 2 sends to member 0");
  check([](Package &, Program &, Task &t) { t.add_instructions()->mutable_end_loop(); },
        "a loop ends where none has begun");
  check([](Package &, Program &, Task &t) { t.add_instructions()->mutable_loop()->set_count(2); },
        "1 loops do not end");
  check([](Package &, Program &, Task &t) { t.add_instructions(); }, "the instruction is of no known kind");
  check([](Package &, Program &, Task &t) { t.add_instructions()->mutable_coordinate()->set_axis(4); },
        "the coordinate is of axis 4 of 1");
}

} // namespace
