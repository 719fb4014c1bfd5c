//===- AccumulationTest.cpp - several steps are one update -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulating package made by hand, against the same steps in plain loops: multiples of 1/8 of small integers, so
// that every order of the sums gives the same.
//
//===----------------------------------------------------------------------===//

#include "ReadScalar.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/SerialCheck.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr int64_t rows = 8, depth = 4, columns = 8;

float getInput(int step, int64_t element) { return static_cast<float>((step * 5 + element) % 7) - 3; }

/// A package on disk, with an input for each of some steps.
struct Fixture {
  TempFolder folder;
  std::optional<LoadedPackage> package;

  explicit Fixture(
      const AccumulationOptions &options, const std::function<void(Package &)> &change = [](Package &) {}) {
    Package message = makeAccumulationPackage(options);
    change(message);
    EXPECT_TRUE(writePackage(message, folder / "p"));
    auto opened = LoadedPackage::open(folder / "p");
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    package.emplace(std::move(*opened));
    for (int step = 0; step != 8; ++step)
      write("x" + std::to_string(step), "x", rows * depth, [&](int64_t i) { return getInput(step, i); });
    write("w", "w", depth * columns, [](int64_t i) { return static_cast<float>(i % 5) / 4; });
  }

  void write(const std::string &file, const std::string &name, int64_t count, std::function<float(int64_t)> get) {
    Tensor tensor(F32, {count / (name == "x" ? depth : columns), name == "x" ? depth : columns});
    for (int64_t i = 0; i != count; ++i)
      tensor.as<float>()[i] = get(i);
    auto writer = SafeTensorsWriter::create(folder / file, {{name, F32, tensor.shape}});
    ASSERT_TRUE(writer.ok() && writer->append(tensor.bytes).ok() && writer->commit().ok());
  }

  std::unique_ptr<Session> start(bool serial = false) {
    SessionOptions options;
    options.serial = serial;
    auto session = Session::create(*package, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    auto file = SafeTensors::open(folder / "w");
    EXPECT_TRUE((*session)->initialize(&*file, 0).ok());
    return std::move(*session);
  }

  Feeder makeFeeder(Session &session) {
    return std::move(*Feeder::create(session.getPackage(), folder / "x{step}", {}));
  }
};

std::vector<float> get(const Session &session, const ValueSet &set, const std::string &name) {
  size_t i = *set.find(name);
  std::vector<float> values(set.getBytes(i) / 4);
  EXPECT_TRUE(session.gather(set, i, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

std::vector<float> getArray(const Session &session, const std::string &variable, int64_t rank) {
  const ValueSet &set = session.getVariables();
  std::span<std::byte> bytes = set.getArray(*set.find(variable), rank);
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The accumulation in plain loops.
struct PlainLoops {
  std::vector<float> w, accumulator;
  PlainLoops() : w(depth * columns), accumulator(depth * columns) {
    for (size_t i = 0; i != w.size(); ++i)
      w[i] = static_cast<float>(i % 5) / 4;
  }

  /// The loss of a step; rows `first` to `end` - 1 of its input are added to the accumulator.
  float step(int number, int64_t first = 0, int64_t end = rows) {
    float loss = 0;
    for (int64_t i = first; i != end; ++i)
      for (int64_t k = 0; k != depth; ++k)
        for (int64_t j = 0; j != columns; ++j) {
          loss += getInput(number, i * depth + k) * w[k * columns + j];
          accumulator[k * columns + j] += getInput(number, i * depth + k);
        }
    return loss;
  }
  float update() {
    float total = 0;
    for (size_t i = 0; i != w.size(); ++i) {
      w[i] -= accumulator[i] / 8;
      total += accumulator[i];
      accumulator[i] = 0;
    }
    return total;
  }
};

/// Seven steps, against plain loops.
void checkSteps(const AccumulationOptions &options, bool serial) {
  SCOPED_TRACE(fmt::format("dp={} tp={}, {} steps, {} micro-batches{}", options.dp, options.tp, options.steps,
                           options.microBatches, serial ? ", serial" : ""));
  Fixture fixture(options);
  auto session = fixture.start(serial);
  Feeder feeder = fixture.makeFeeder(*session);
  PlainLoops plain;
  for (int step = 0; step != 7; ++step) {
    EXPECT_EQ(session->getAccumulationPosition(), step % options.steps);
    ASSERT_TRUE(feeder.load(step).ok());
    feeder.scatter(*session);
    Status status = session->step();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(readScalar(*session, "loss"), plain.step(step));
    bool update = (step + 1) % options.steps == 0;
    EXPECT_EQ(session->isUpdated(), update);
    if (update) {
      std::vector<float> gradient = plain.accumulator;
      EXPECT_EQ(get(*session, session->getOutputs(), "grad/w"), gradient);
      EXPECT_EQ(readScalar(*session, "total"), plain.update());
    } else {
      EXPECT_EQ(get(*session, session->getVariables(), "accumulator/w"), plain.accumulator);
      EXPECT_EQ(readScalar(*session, "total"), std::nullopt);
    }
    EXPECT_EQ(get(*session, session->getVariables(), "w"), plain.w);
  }
}

} // namespace

TEST(Accumulation, StepsAreWhatPlainLoopsCompute) {
  for (AccumulationOptions options :
       {AccumulationOptions{2, 1, 3}, AccumulationOptions{2, 2, 3}, AccumulationOptions{4, 1, 2},
        AccumulationOptions{2, 1, 1, 2}, AccumulationOptions{2, 2, 3, 2}, AccumulationOptions{2, 1, 1}})
    for (bool serial : {false, true})
      checkSteps(options, serial);
}

TEST(Accumulation, VariantsAreFew) {
  Fixture fixture({2, 1, 1000});
  const std::vector<StepVariant> &variants = fixture.package->getVariants();
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[1].begin, 1u);
  EXPECT_EQ(variants[1].end, 999u);
  EXPECT_EQ(fixture.package->getAccumulationSteps(), 1000u);
  for (auto [position, variant] : {std::pair(0, 0), {1, 1}, {998, 1}, {999, 2}})
    EXPECT_EQ(fixture.package->getVariant(position), static_cast<size_t>(variant));
}

TEST(Accumulation, RanksHoldAddends) {
  Fixture fixture({2, 1, 3});
  auto session = fixture.start();
  Feeder feeder = fixture.makeFeeder(*session);
  ASSERT_TRUE(feeder.load(0).ok());
  feeder.scatter(*session);
  ASSERT_TRUE(session->step().ok());
  for (int64_t rank : {0, 1}) {
    PlainLoops half;
    half.step(0, rank * rows / 2, (rank + 1) * rows / 2);
    EXPECT_EQ(getArray(*session, "accumulator/w", rank), half.accumulator);
  }
  // A whole value is the first addend; the others change no sum, not even that of negative zeros.
  std::vector<float> whole(depth * columns, -0.0f);
  whole[3] = 5;
  size_t i = *session->getVariables().find("accumulator/w");
  session->scatter(session->getVariables(), i, std::as_bytes(std::span(whole)));
  EXPECT_EQ(getArray(*session, "accumulator/w", 0), whole);
  EXPECT_EQ(getArray(*session, "accumulator/w", 1), std::vector<float>(depth * columns, 0.0f));
  std::vector<float> again = get(*session, session->getVariables(), "accumulator/w");
  EXPECT_EQ(std::memcmp(again.data(), whole.data(), 4 * whole.size()), 0);
}

/// The reports of seven checked steps, of which every `every`-th is checked.
static std::vector<CheckReport> runChecked(Fixture &fixture, int every = 1) {
  std::vector<CheckReport> reports;
  auto session = fixture.start();
  auto check = std::move(*SerialCheck::create(*session, {}));
  auto file = SafeTensors::open(fixture.folder / "w");
  EXPECT_TRUE(check->initialize(&*file, 0).ok());
  Feeder feeder = fixture.makeFeeder(*session);
  for (int step = 0; step != 7; ++step) {
    EXPECT_TRUE(feeder.load(step).ok());
    feeder.scatter(*session);
    if (step % every == 0)
      EXPECT_TRUE(check->synchronize().ok());
    EXPECT_TRUE(session->step().ok());
    if (step % every != 0)
      continue;
    auto report = check->check(feeder);
    EXPECT_TRUE(report.ok()) << report.status().message();
    reports.push_back(*report);
  }
  return reports;
}

TEST(Accumulation, AccumulatorsAreCheckedAsSumsWhileTheyMatter) {
  for (AccumulationOptions options : {AccumulationOptions{2, 1, 3}, AccumulationOptions{2, 2, 3, 2}})
    for (int every : {1, 2}) {
      Fixture fixture(options);
      std::vector<CheckReport> reports = runChecked(fixture, every);
      for (size_t i = 0; i != reports.size(); ++i) {
        bool update = i * every % 3 == 2;
        EXPECT_TRUE(reports[i].agrees()) << reports[i].toString();
        EXPECT_EQ(reports[i].variables, update ? 1u : 2u);
        EXPECT_EQ(reports[i].outputs, update ? 3u : 1u);
      }
    }
  // An accumulation within the step leaves the serial program nothing to accumulate.
  Fixture within({2, 1, 1, 2}, [](Package &p) { p.mutable_serial()->set_variable_buffers(1, -1); });
  for (const CheckReport &report : runChecked(within)) {
    EXPECT_TRUE(report.agrees()) << report.toString();
    EXPECT_EQ(report.variables, 1u);
    EXPECT_EQ(report.outputs, 3u);
  }
  // The middle step forgets what was there.
  Fixture fixture({2, 1, 3}, [](Package &p) {
    for (Instruction &instruction : *p.mutable_programs(0)->mutable_tasks(1)->mutable_instructions())
      if (instruction.name() == "test_add")
        instruction.mutable_kernel()->set_arguments(1, instruction.kernel().arguments(2));
  });
  std::vector<CheckReport> reports = runChecked(fixture);
  for (size_t i = 0; i != reports.size(); ++i)
    EXPECT_EQ(reports[i].disagreeing, i % 3 == 1 ? 1u : 0u);
  EXPECT_EQ(reports[1].name, "accumulator/w");
}

TEST(Accumulation, PositionsAreProfiledByThemselves) {
  Fixture fixture({2, 1, 3});
  auto session = fixture.start();
  Feeder feeder = fixture.makeFeeder(*session);
  ASSERT_TRUE(feeder.load(0).ok());
  feeder.scatter(*session);
  for (uint32_t position : {0, 1, 2}) {
    auto profile = session->profile(position, 3);
    ASSERT_TRUE(profile.ok()) << profile.status().message();
    int task = static_cast<int>(position);
    EXPECT_EQ(profile->seconds[0].size(),
              static_cast<size_t>(fixture.package->message().programs(0).tasks(task).instructions_size()));
  }
  EXPECT_EQ(session->getAccumulationPosition(), 0u);
}

TEST(Accumulation, InstructionsMeasuredAloneLeaveNoTrace) {
  Fixture fixture({2, 1, 3});
  auto session = fixture.start(), measured = fixture.start();
  Feeder feeder = fixture.makeFeeder(*session);
  for (uint32_t step = 0; step != 4; ++step) {
    for (Session *one : {session.get(), measured.get()}) {
      ASSERT_TRUE(feeder.load(step).ok());
      feeder.scatter(*one);
      ASSERT_TRUE(one->step().ok());
    }
    int numMeasured = 0;
    for (int64_t rank : {0, 1})
      for (const Task &task : measured->getProgram(rank).tasks())
        for (const Instruction &instruction : task.instructions())
          if (instruction.has_kernel() || instruction.has_matmul()) {
            auto seconds = measured->measureAlone(rank, instruction);
            ASSERT_TRUE(seconds.ok()) << seconds.status().message();
            EXPECT_GT(seconds->value(), 0);
            ++numMeasured;
          }
    EXPECT_GT(numMeasured, 8);
    const ValueSet &variables = session->getVariables();
    for (size_t i = 0; i != variables.size(); ++i) {
      std::vector<std::byte> expected(variables.getBytes(i)), found(variables.getBytes(i));
      ASSERT_TRUE(session->gather(variables, i, expected).ok());
      ASSERT_TRUE(measured->gather(variables, i, found).ok());
      EXPECT_EQ(found, expected) << variables.getName(i) << " after step " << step;
    }
  }
}

//===----------------------------------------------------------------------===//
// Invalid packages
//===----------------------------------------------------------------------===//

/// The error of opening the package of an accumulation of 3 steps on 2 ranks with a change made to it; empty if there
/// is none.
static std::string getError(const std::function<void(Package &)> &change, const AccumulationOptions &options = {}) {
  TempFolder folder;
  Package message = makeAccumulationPackage(options);
  change(message);
  EXPECT_TRUE(writePackage(message, folder / "p"));
  auto package = LoadedPackage::open(folder / "p");
  return package.ok() ? "" : package.status().message().substr((folder / "p/package.pb").size() + 2);
}

static ScheduleItem &getItem(Package &package, int i) { return *package.mutable_programs(0)->mutable_schedule(i); }

TEST(Accumulation, EveryStepIsRunOnce) {
  EXPECT_EQ(getError([](Package &) {}), "");
  EXPECT_EQ(getError([](Package &p) { getItem(p, 1).set_first_step(2), getItem(p, 1).set_end_step(2); }),
            "program 0: the schedule runs task 1 in the steps [2, 2) of an accumulation of 3");
  EXPECT_EQ(getError([](Package &p) { getItem(p, 2).set_end_step(4); }),
            "program 0: the schedule runs task 2 in the steps [2, 4) of an accumulation of 3");
  EXPECT_EQ(getError([](Package &p) { p.set_accumulation_steps(4); }),
            "program 0: step 3 of an accumulation of 4 runs 0 of 1 micro-batches");
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->mutable_schedule()->DeleteSubrange(1, 1); }),
            "program 0: step 1 of an accumulation of 3 runs 0 of 1 micro-batches");
  EXPECT_EQ(getError([](Package &p) { p.mutable_serial()->mutable_schedule()->DeleteSubrange(0, 1); }),
            "serial program: step 0 of an accumulation of 3 runs 0 of 1 micro-batches");
  EXPECT_EQ(getError([](Package &p) { getItem(p, 1).set_end_step(3); }),
            "program 0: step 2 of an accumulation of 3 runs micro-batch 0 where none is next");
  EXPECT_EQ(getError([](Package &p) { getItem(p, 0).set_micro_batch(1); }),
            "program 0: step 0 of an accumulation of 3 runs micro-batch 1 where 0 is next");
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->mutable_tasks(2)->set_runs(Task::LAST); }),
            "program 0: tasks \"first\" and \"last\" are one action, 0, but are not done for the same micro-batches");
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->mutable_tasks(2)->set_runs(static_cast<Task::Runs>(9)); }),
            "program 0: task \"last\" is done for micro-batches of an unknown kind, 9");
  EXPECT_EQ(getError([](Package &p) { p.set_micro_batches(2); }),
            "program 0: step 0 of an accumulation of 3 runs 1 of 2 micro-batches");
  EXPECT_EQ(getError([](Package &p) {
              for (uint32_t step = 1; step != 99; ++step) {
                ScheduleItem &item = *p.mutable_programs(0)->add_schedule();
                item = p.programs(0).schedule(1);
                item.set_first_step(step);
                item.set_end_step(step + 1);
              }
              p.set_accumulation_steps(100);
            }),
            "the schedules have 65 variants of the step or more, where this runtime knows 64");
}

TEST(Accumulation, MembersOfAGroupIssueTheSameInEveryStep) {
  auto change = [](const std::function<void(Program &)> &fn) {
    return getError([&](Package &p) {
      *p.add_programs() = p.programs(0);
      fn(*p.mutable_programs(1));
      p.set_program_of_rank(1, 1);
    });
  };
  EXPECT_EQ(change([](Program &) {}), "");
  // Rank 1 has its last step as step 1.
  EXPECT_EQ(change([](Program &p) { p.mutable_schedule(1)->set_task(2); }),
            "ranks 0 and 1 are in one group, but where rank 0 issues nothing, rank 1 issues c_allreduce #2 (grad/w, "
            "hand.mlir:8) of 32 f32, in step 1 of an accumulation");
  // Its loss has another tag in the last step.
  EXPECT_EQ(change([](Program &p) {
              for (Instruction &instruction : *p.mutable_tasks(2)->mutable_instructions())
                if (instruction.name() == "loss")
                  instruction.mutable_collective()->set_tag(9);
            }),
            "ranks 0 and 1 are in one group, but where rank 0 issues c_allreduce #1 (loss, hand.mlir:5) of 1 f32, rank "
            "1 issues c_allreduce #9 (loss, hand.mlir:5) of 1 f32, in step 2 of an accumulation");
}

TEST(Accumulation, WaitsMeanTheirOwnTask) {
  // In the last two steps the loss is started and waited for.
  auto getWaitError = [](const std::function<void(Program &)> &fn) {
    return getError([&](Package &p) {
      Program &program = *p.mutable_programs(0);
      for (int task : {1, 2}) {
        program.mutable_tasks(task)->mutable_instructions(4)->mutable_collective()->set_start(true);
        program.mutable_tasks(task)->add_instructions()->mutable_wait()->set_tag(1);
      }
      fn(program);
    });
  };
  EXPECT_EQ(getWaitError([](Program &) {}), "");
  EXPECT_EQ(getWaitError([](Program &p) { p.mutable_tasks(1)->mutable_instructions()->RemoveLast(); }),
            "program 0: c_allreduce #1 is started and never waited for");
  EXPECT_EQ(getWaitError([](Program &p) { p.mutable_tasks(0)->add_instructions()->mutable_wait()->set_tag(1); }),
            "program 0: task \"first\", instruction 6 () waits for collective #1, which is not started but executed");
  EXPECT_EQ(getWaitError([](Program &p) {
              p.mutable_tasks(0)->mutable_instructions()->DeleteSubrange(4, 1);
              p.mutable_tasks(0)->add_instructions()->mutable_wait()->set_tag(1);
            }),
            "program 0: task \"first\", instruction 5 () waits for collective #1, which no task starts for it");
}

TEST(Accumulation, SumsOverAxesAreChecked) {
  auto change = [](const std::function<void(Placement &)> &fn) {
    return getError([&](Package &p) { fn(*p.mutable_variables(1)->mutable_placement()); });
  };
  EXPECT_EQ(change([](Placement &p) { p.add_partial(1); }),
            "variable \"accumulator/w\": axis \"tp\" splits the value, which is a sum over it too");
  EXPECT_EQ(change([](Placement &p) { p.add_partial(0); }),
            "variable \"accumulator/w\": the value is a sum over axis \"dp\" twice");
  EXPECT_EQ(change([](Placement &p) { p.set_partial(0, 7); }),
            "variable \"accumulator/w\": the value is a sum over axis 7 of a mesh with 2 axes");
  EXPECT_EQ(getError([](Package &p) { p.mutable_variables(0)->mutable_placement()->add_partial(0); }),
            "variable \"w\": it is a sum over axis \"dp\", which only an accumulator may be");
  EXPECT_EQ(getError([](Package &p) { p.mutable_outputs(0)->mutable_placement()->add_partial(0); }),
            "output \"loss\": it is a sum over axis \"dp\", which only an accumulator may be");
  EXPECT_EQ(getError([](Package &p) {
              p.mutable_inputs(0)->mutable_placement()->clear_dims();
              p.mutable_inputs(0)->mutable_placement()->add_partial(0);
            }),
            "input \"x\": it is a sum over axis \"dp\", which only an accumulator may be");
  EXPECT_EQ(getError([](Package &p) { p.mutable_variables(1)->mutable_init()->set_a(1); }),
            "variable \"accumulator/w\": an accumulator begins at zero, but its initializer says otherwise");
  EXPECT_EQ(getError([](Package &p) { p.mutable_variables(1)->set_dtype(I1); }),
            "variable \"accumulator/w\": an accumulator of i1 has no sums");
  EXPECT_EQ(getError([](Package &p) {
              p.mutable_programs(0)->mutable_tasks(0)->mutable_instructions(0)->mutable_micro_batch()->set_buffer(0);
            }),
            "program 0: task \"first\", instruction 0 (micro-batch, hand.mlir:1): the micro-batch is written to buffer "
            "0 of 128 bytes of f32 where an i32 is wanted");
}
