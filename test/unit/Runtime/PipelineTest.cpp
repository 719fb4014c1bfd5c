//===- PipelineTest.cpp - several works for each micro-batch --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline made by hand in published orders, against the same network in plain loops.
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include "PipelineRun.h"
#include "test/unit/Random.h"
#include <functional>
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;
using schedule::OrderKind;
using schedule::OrderShape;
using schedule::TaskOrder;

namespace {

const std::pair<OrderKind, OrderShape> shapes[] = {
    {OrderKind::FillDrain, {3, 5}},
    {OrderKind::OneForwardOneBackward, {4, 6}},
    {OrderKind::OneForwardOneBackward, {2, 1}},
    {OrderKind::EagerOneForwardOneBackward, {3, 7}},
    {OrderKind::Interleaved, {2, 4, 2}},
    {OrderKind::ZeroBubbleH1, {3, 6}},
    {OrderKind::ZeroBubbleV, {3, 6, 2}},
};

/// Two steps of a package that is accepted do what plain loops do; `error` says what is not so.
void checkSteps(PipelineRun &run, const TaskOrder &order, std::string &error) {
  PlainPipeline plain(order.getNumStages());
  for (int step = 0; step != 2 && error.empty(); ++step) {
    float loss = plain.step(order.numMicroBatches);
    if (Status status = run.session->step(); !status.ok())
      error = status.message();
    else if (run.get("loss") != loss)
      error = fmt::format("the loss is {}, not {}", run.get("loss"), loss);
    for (size_t stage = 0; stage != plain.w.size() && error.empty(); ++stage)
      if (run.getArray(run.session->getVariables(), fmt::format("w{}", stage)) != plain.w[stage])
        error = fmt::format("w{} is not what it should be after step {}", stage, step);
  }
}

} // namespace

TEST(Pipeline, DoesWhatPlainLoopsDo) {
  for (const auto &[kind, shape] : shapes)
    for (bool serial : {false, true}) {
      SCOPED_TRACE(fmt::format("{} of {} micro-batches on {} ranks{}", schedule::getName(kind).str(),
                               shape.microBatches, shape.ranks, serial ? ", serial" : ""));
      TaskOrder order = getOrder(kind, shape);
      TempFolder folder;
      SessionOptions options;
      options.serial = serial;
      PipelineRun run(makePipelinePackage(order), folder / "p", options);
      ASSERT_TRUE(run.status.ok()) << run.status.message();
      std::string error;
      checkSteps(run, order, error);
      EXPECT_EQ(error, "");
    }
}

//===----------------------------------------------------------------------===//
// Invalid packages
//===----------------------------------------------------------------------===//

/// The error of opening a pipeline of 3 ranks and 4 micro-batches with a change made to rank 1, whose buffer `operand`
/// has slots; empty if there is none.
static std::string getError(const std::function<void(Program &, Buffer &)> &change) {
  TempFolder folder;
  Package message = makePipelinePackage(getOrder(OrderKind::OneForwardOneBackward, {3, 4}));
  Program &program = *message.mutable_programs(1);
  for (Buffer &buffer : *program.mutable_buffers())
    if (buffer.name() == "operand")
      change(program, buffer);
  std::string error = PipelineRun(message, folder / "p").status.message();
  for (const char *context : {"package.pb: ", "program 1: "})
    if (size_t at = error.find(context); at != std::string::npos)
      error.erase(0, at + std::string(context).size());
  return error;
}

static int findTask(const Program &program, const std::string &name) {
  for (int i = 0; i != program.tasks_size(); ++i)
    if (program.tasks(i).name() == name)
      return i;
  ADD_FAILURE() << "there is no task " << name;
  return 0;
}

/// The position in the schedule of that task for that micro-batch.
static int findItem(const Program &program, const std::string &name, uint32_t microBatch) {
  for (int i = 0; i != program.schedule_size(); ++i)
    if (program.tasks(static_cast<int>(program.schedule(i).task())).name() == name &&
        program.schedule(i).micro_batch() == microBatch)
      return i;
  ADD_FAILURE() << "there is no " << name << " of " << microBatch;
  return 0;
}

TEST(Pipeline, SlotsAreChecked) {
  EXPECT_EQ(getError([](Program &, Buffer &) {}), "");
  EXPECT_EQ(getError([](Program &, Buffer &b) { b.set_slots(5); }),
            "buffer 12: it has 5 slots, but a step has 4 micro-batches");
  EXPECT_EQ(getError([](Program &, Buffer &b) { b.set_slot_bytes(0); }),
            "buffer 12: its slots are 0 bytes apart, which is no multiple of 64 that holds its 16 bytes");
  EXPECT_EQ(getError([](Program &, Buffer &b) { b.set_slot_bytes(96); }),
            "buffer 12: its slots are 96 bytes apart, which is no multiple of 64 that holds its 16 bytes");
  EXPECT_EQ(
      getError([](Program &, Buffer &b) { b.set_slot_bytes(uint64_t(1) << 62); }),
      "buffer 12: 3 slots, 4611686018427387904 bytes apart from offset 768, do not lie in the arena of 1280 bytes");
  EXPECT_EQ(getError([](Program &, Buffer &b) { b.set_offset(64); }),
            "buffer 12: it has 3 slots in the persistent part of the arena");
  EXPECT_EQ(getError([](Program &p, Buffer &) { p.mutable_buffers(p.variable_buffers(1))->set_slots(1); }),
            "buffer 0: it has 1 slots in the persistent part of the arena");
}

/// Moves an item of the schedule to the place of another.
static void move(Program &program, int from, int to) {
  auto &items = *program.mutable_schedule();
  for (; from < to; ++from)
    items.SwapElements(from, from + 1);
  for (; from > to; --from)
    items.SwapElements(from, from - 1);
}

TEST(Pipeline, NobodyTouchesWhatIsInFlight) {
  // The forward before the wait for its operand, and the backward after the start of the transfer that reuses its slot.
  EXPECT_EQ(getError([](Program &p, Buffer &) { move(p, findItem(p, "1F", 1), findItem(p, "wait 0 forward", 1)); }),
            "micro-batch 1: task \"1F\", instruction 0 (test_scale, hand.mlir:1): buffer 12 is read while c_send #0 of "
            "micro-batch 1 writes it");
  // With one slot less, what comes next arrives too soon.
  EXPECT_EQ(getError([](Program &, Buffer &b) { b.set_slots(b.slots() - 1); }),
            "micro-batch 0: task \"1B\", instruction 1 (test_scale, hand.mlir:2): buffer 12 is read while c_send #0 of "
            "micro-batch 2 writes it");
  // A forward after the start of the send of its result.
  EXPECT_EQ(
      getError([](Program &p, Buffer &) { move(p, findItem(p, "send 1 forward", 0), findItem(p, "1F", 0)); }),
      "micro-batch 0: task \"1F\", instruction 1 (test_scale, hand.mlir:2): buffer 14 is written while c_send #2 of "
      "micro-batch 0 reads it");
  // A start again, without a wait in between.
  EXPECT_EQ(getError([](Program &p, Buffer &) {
              move(p, findItem(p, "send 1 forward", 2), findItem(p, "wait 1 forward", 0));
            }),
            "micro-batch 2: task \"send 1 forward\", instruction 0 (moved, hand.mlir:1): c_send #2 of micro-batch 2 is "
            "started again before it was waited for in one of its 2 slots");
}

TEST(Pipeline, SlotsHaveWhatIsReadFromThem) {
  // The first forward, which is a task of its own, makes nothing.
  EXPECT_EQ(getError([](Program &p, Buffer &) { p.mutable_tasks(findTask(p, "1F"))->clear_instructions(); }),
            "task \"send 1 forward\", instruction 0 (moved, hand.mlir:1): buffer 14 is read for micro-batch 0, but its "
            "slot has nothing of one");
}

TEST(Pipeline, EveryActionIsDoneForEachMicroBatch) {
  EXPECT_EQ(getError([](Program &p, Buffer &) { p.mutable_schedule()->DeleteSubrange(findItem(p, "1F", 3), 1); }),
            "the step runs 3 of 4 micro-batches of task \"1F\"");
  EXPECT_EQ(getError([](Program &p, Buffer &) { p.mutable_schedule(findItem(p, "1F", 2))->set_micro_batch(1); }),
            "the step runs micro-batch 1 of task \"1F\" where 2 is next");
  EXPECT_EQ(getError([](Program &p, Buffer &) { p.mutable_schedule(findItem(p, "update", 3))->set_micro_batch(2); }),
            "the step runs micro-batch 2 of task \"update\" where 3 is next");
  EXPECT_EQ(getError([](Program &p, Buffer &) { *p.add_schedule() = p.schedule(findItem(p, "update", 3)); }),
            "the step runs micro-batch 3 of task \"update\" where none is next");
  EXPECT_EQ(getError([](Program &p, Buffer &) { p.mutable_tasks(findTask(p, "update"))->set_runs(Task::FIRST); }),
            "the step runs micro-batch 3 of task \"update\" where 0 is next");
}

TEST(Pipeline, WaitsMeanOneAction) {
  // The send of stage 0 gets the tag of another send, so that no task starts the transfer that is waited for.
  auto setTag = [](Program &p) {
    p.mutable_tasks(findTask(p, "send 0 forward"))->mutable_instructions(0)->mutable_collective()->set_tag(2);
  };
  EXPECT_EQ(
      getError([&](Program &p, Buffer &) { setTag(p); }),
      "task \"wait 0 forward\", instruction 0 (wait, hand.mlir:1) waits for collective #0, which no task starts for "
      "it");
  EXPECT_EQ(
      getError([&](Program &p, Buffer &) {
        setTag(p);
        p.mutable_tasks(findTask(p, "wait 0 forward"))->mutable_instructions(0)->mutable_wait()->set_tag(2);
      }),
      "task \"wait 0 forward\", instruction 0 (wait, hand.mlir:1) waits for collective #2, which 2 actions start");
}

TEST(Pipeline, RanksThatWaitForEachOtherAreNamed) {
  // Rank 1 receives the next send of rank 0 only after rank 0 has received a gradient, which it does after that send.
  EXPECT_EQ(getError([](Program &p, Buffer &) {
              move(p, findItem(p, "send 0 forward", 2), findItem(p, "send 1 backward", 0));
            }),
            "ranks wait for each other for ever: rank 0 waits for rank 1, in c_send #0 (moved, hand.mlir:1) of task "
            "\"send 0 forward\" for micro-batch 2; rank 1 waits for rank 0, in c_send #3 (moved, hand.mlir:1) of task "
            "\"send 1 backward\" for micro-batch 0");
}

TEST(Pipeline, DamagedOnesAreErrorsAndNotCrashes) {
  // Kernels may do what they want with the buffers they are given, so what survives the checks is prepared and not run.
  TempFolder folder;
  Package message = makePipelinePackage(getOrder(OrderKind::OneForwardOneBackward, {3, 4}));
  ASSERT_TRUE(writePackage(message, folder / "p"));
  std::string whole = addHashes(message).SerializeAsString();
  Random random;
  int refused = 0;
  for (int round = 0; round != 1000; ++round) {
    std::string bytes = whole;
    for (int64_t changes = random.pick(1, 3); changes != 0; --changes)
      bytes[random.pick(0, static_cast<int64_t>(bytes.size()) - 1)] = static_cast<char>(random.pick(0, 255));
    folder.write("p/package.pb", sealPackage(bytes));
    auto package = LoadedPackage::open(folder / "p");
    refused += !package.ok() || !Session::create(*package, {}).ok();
  }
  EXPECT_GT(refused, 500);
}

//===----------------------------------------------------------------------===//
// Changed schedules
//===----------------------------------------------------------------------===//

namespace {

/// Changes one thing of a pipeline's order: an item of a schedule, or a send. What kernels add up over micro-batches is
/// known to them alone, so that the update stays the last item of its rank and variants of an action stay where they
/// are.
class Edit {
public:
  Edit(Package &package, Random &random)
      : random(random), program(*package.mutable_programs(pick(package.programs_size()))),
        numItems(program.schedule_size() - 1) {}

  void apply() {
    int place = pick(numItems);
    ScheduleItem &item = *program.mutable_schedule(place);
    switch (random.pick(0, 11)) {
    case 0:
      return program.mutable_schedule()->SwapElements(place, pick(numItems));
    case 1:
      return program.mutable_schedule()->DeleteSubrange(place, 1);
    case 2:
      *program.add_schedule() = ScheduleItem(item);
      return move(program, numItems + 1, place);
    case 3:
      return item.set_micro_batch(static_cast<uint32_t>(pick(6)));
    case 4: {
      uint32_t action = program.tasks(static_cast<int>(item.task())).action();
      while (program.tasks(static_cast<int>(item.task())).action() == action)
        item.set_task(static_cast<uint32_t>(pick(program.tasks_size())));
      return;
    }
    case 5:
      return changeSend(findSend());
    case 6:
      return findSend().clear_instructions();
    default:
      // Not far, so that the micro-batches of an action keep their order.
      return move(program, place, std::clamp(place + pick(13) - 6, 0, numItems - 1));
    }
  }

private:
  int pick(int end) { return static_cast<int>(random.pick(0, end - 1)); }

  Task &findSend() {
    while (true)
      if (Task &task = *program.mutable_tasks(pick(program.tasks_size()));
          task.instructions_size() != 0 && task.instructions(0).has_collective())
        return task;
  }

  void changeSend(Task &task) {
    Collective &send = *task.mutable_instructions(0)->mutable_collective();
    switch (random.pick(0, 4)) {
    case 0:
      return send.set_to(static_cast<uint32_t>(pick(4)));
    case 1:
      return send.mutable_parts(0)->set_root(static_cast<uint32_t>(pick(4)));
    case 2:
      return send.set_tag(static_cast<uint32_t>(pick(8)));
    case 3:
      return send.mutable_parts(0)->set_count(static_cast<uint64_t>(pick(4)));
    default:
      *task.add_instructions() = Instruction(task.instructions(0));
    }
  }

  Random &random;
  Program &program;
  int numItems;
};

} // namespace

TEST(Pipeline, ChangedSchedulesAreRefusedOrRight) {
  TaskOrder orders[] = {getOrder(OrderKind::OneForwardOneBackward, {4, 6}),
                        getOrder(OrderKind::ZeroBubbleV, {3, 5, 2})};
  std::map<std::string, int> outcomes;
  Random random;
  for (int round = 0; round != 1000; ++round) {
    const TaskOrder &order = orders[round % 2];
    Package message = makePipelinePackage(order);
    Edit(message, random).apply();
    TempFolder folder;
    PipelineRun run(message, folder / "p");
    const std::string &refusal = run.status.message();
    std::string error;
    if (run.status.ok())
      checkSteps(run, order, error);
    EXPECT_EQ(error, "") << "round " << round;
    EXPECT_EQ(run.status.ok(), refusal.empty());
    auto has = [&](const char *text) { return refusal.find(text) != std::string::npos; };
    ++outcomes[run.status.ok()                ? "accepted"
               : has("wait for each other")   ? "cycle"
               : has("are in one group")      ? "other list"
               : has("micro-batches of task") ? "left out"
               : has(" is next")              ? "other order"
               : has(" while ")               ? "touched in flight"
               : has("is read for")           ? "not written"
                                              : "other"];
  }
  for (const auto &[outcome, count] : outcomes)
    fmt::print("{} {}\n", count, outcome);
  for (const char *outcome : {"accepted", "cycle", "other list", "left out", "other order", "touched in flight"})
    EXPECT_GT(outcomes[outcome], 0) << outcome;
}
