//===- EvaluationTest.cpp - programs in the memory of others --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-made package, with itself as its evaluation: the evaluation programs update nothing and keep everything but
// the variable after the persistent memory of the training programs.
//
//===----------------------------------------------------------------------===//

#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/SerialCheck.h"
#include "meshwright/runtime/Slots.h"
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// Moves all but the variable to after `kept` bytes, and drops the instructions that write the variable.
static void makeEvaluation(Program &program, uint64_t kept) {
  int32_t variable = program.variable_buffers(0);
  for (int i = 0; i != program.buffers_size(); ++i)
    if (i != variable)
      program.mutable_buffers(i)->set_offset(program.buffers(i).offset() + kept);
  program.set_arena_bytes(program.arena_bytes() + kept);
  program.set_persistent_bytes(program.persistent_bytes() + kept);
  auto &instructions = *program.mutable_tasks(0)->mutable_instructions();
  for (int i = instructions.size(); i-- != 0;) {
    bool writes = false;
    forEachAccess(instructions[i], [&](uint32_t buffer, bool isWrite) {
      writes |= isWrite && buffer == static_cast<uint32_t>(variable);
    });
    if (writes)
      instructions.DeleteSubrange(i, 1);
  }
}

static Package makePair() {
  Package package = makePackage();
  Package evaluation = package;
  evaluation.clear_libraries();
  evaluation.clear_axes();
  auto pair = [](Program &trained, Program &evaluated) {
    makeEvaluation(evaluated, trained.persistent_bytes());
    trained.set_arena_bytes(evaluated.arena_bytes());
  };
  for (int i = 0; i != package.programs_size(); ++i)
    pair(*package.mutable_programs(i), *evaluation.mutable_programs(i));
  pair(*package.mutable_serial(), *evaluation.mutable_serial());
  *package.mutable_evaluation() = evaluation;
  return package;
}

/// The error of opening the package with a change made to its evaluation; empty if there is none.
static std::string getError(const std::function<void(Package &)> &change) {
  TempFolder folder;
  Package message = makePair();
  change(*message.mutable_evaluation());
  EXPECT_TRUE(writePackage(message, folder / "p"));
  auto package = LoadedPackage::open(folder / "p");
  return package.ok() ? "" : package.status().message().substr((folder / "p/package.pb").size() + 2);
}

static Program &getProgram(Package &package) { return *package.mutable_programs(0); }

TEST(Evaluation, GoodOneIsOpened) {
  EXPECT_EQ(getError([](Package &) {}), "");
}

TEST(Evaluation, VariablesAreWhereTheyAreTrained) {
  EXPECT_EQ(getError([](Package &p) { p.mutable_variables(0)->set_name("v"); }),
            "evaluation: variable \"v\" is not one of those that are trained");
  EXPECT_EQ(getError([](Package &p) {
              p.mutable_variables(0)->mutable_placement()->mutable_dims(1)->clear_splits();
            }).substr(0, 12),
            "evaluation: ");
  uint64_t bytes = 0;
  std::string error = getError([&](Package &p) {
    Buffer &buffer = *getProgram(p).mutable_buffers(getProgram(p).variable_buffers(0));
    bytes = buffer.bytes();
    buffer.set_offset(64);
  });
  EXPECT_EQ(error, "evaluation: rank 0: variable \"w\" is at 64 of " + std::to_string(bytes) + " bytes, but at 0 of " +
                       std::to_string(bytes) + " where it is trained");
}

TEST(Evaluation, NothingThatIsKeptIsWritten) {
  // To where the programs that train have it.
  auto moveBack = [](Package &p, int buffer) {
    getProgram(p).mutable_buffers(buffer)->set_offset(makePackage().programs(0).buffers(buffer).offset());
  };
  EXPECT_EQ(
      getError([&](Package &p) { moveBack(p, static_cast<int>(getProgram(p).constants(0).buffer())); }).substr(0, 46),
      "evaluation: rank 0: a constant: writes buffer ");
  auto overwrite = [](Package &p, int buffer) { getProgram(p).mutable_buffers(buffer)->set_offset(64); };
  EXPECT_EQ(getError([&](Package &p) { overwrite(p, getProgram(p).input_buffers(0)); }).substr(0, 45),
            "evaluation: rank 0: an input: writes buffer 5");
  EXPECT_EQ(getError([&](Package &p) { overwrite(p, getProgram(p).output_buffers(0)); }).substr(0, 43),
            "evaluation: rank 0: \"test_sum\": writes buff");
}

TEST(Evaluation, ArenasAreShared) {
  uint64_t bytes = 0;
  std::string error = getError([&](Package &p) {
    bytes = getProgram(p).arena_bytes();
    getProgram(p).set_arena_bytes(bytes + 64);
  });
  EXPECT_EQ(error, "evaluation: rank 0: its arenas have " + std::to_string(bytes + 64) +
                       " and 0 bytes, but those that it shares " + std::to_string(bytes) + " and 0");
  EXPECT_EQ(getError([](Package &p) { p.mutable_evaluation()->set_version(5); }),
            "evaluation: programs that evaluate have such programs themselves");
}

static double getLoss(const Session &session) {
  const std::string name = "loss";
  return (*readScalars(session, std::span(&name, 1)))[0].value();
}

/// Runs a step on small numbers that depend on `seed`.
static double runStep(Session &session, int seed) {
  const ValueSet &inputs = session.getInputs();
  std::vector<float> x(inputs.getBytes(0) / sizeof(float));
  for (size_t i = 0; i != x.size(); ++i)
    x[i] = static_cast<float>((i + seed) % 7) - 3;
  session.scatter(inputs, 0, std::as_bytes(std::span(x)));
  EXPECT_TRUE(session.step().ok());
  return getLoss(session);
}

// Tests that an evaluation sees what the steps before made of the variables, and that later steps do not notice
// it.
TEST(Evaluation, TakesTurnsWithTheSteps) {
  for (bool serial : {false, true}) {
    TempFolder folder;
    ASSERT_TRUE(writePackage(makePair(), folder / "p"));
    auto package = LoadedPackage::open(folder / "p");
    ASSERT_TRUE(package.ok()) << package.status().message();
    SessionOptions options;
    options.serial = serial;
    auto alone = Session::create(*package, options), trained = Session::create(*package, options);
    ASSERT_TRUE(alone.ok() && trained.ok());
    options.beside = trained->get();
    auto evaluated = Session::create(*package->getEvaluation(), options);
    ASSERT_TRUE(evaluated.ok()) << evaluated.status().message();
    for (Session *session : {alone->get(), trained->get()})
      ASSERT_TRUE(session->initialize(nullptr, 3).ok());
    for (int step = 0; step != 3; ++step) {
      ASSERT_TRUE((*evaluated)->resume().ok());
      double before = runStep(**evaluated, step);
      // The loss of a step is that before its update.
      EXPECT_EQ(before, runStep(**trained, step));
      EXPECT_EQ(before, runStep(**alone, step));
    }
  }
}
