//===- FaultsTest.cpp - faults on purpose, and who notices them -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults that leave the process alive. Those that end it are tested by test/runtime/faults.py.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Faults.h"
#include "RunRanks.h"
#include "meshwright/runtime/Decorator.h"
#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/MessageCheck.h"
#include "meshwright/runtime/SelfTest.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <latch>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr int64_t numRanks = 3;
constexpr uint64_t count = 40;

/// A step of three collectives of one kind, of which the second is started, with faults.
struct FaultyRun {
  std::vector<std::string> notes;
  std::vector<Status> results;
  std::vector<std::vector<float>> operands, outputs;

  FaultyRun(Collective::Kind kind, const std::string &fault, bool isChecked, double timeout = 600) {
    std::vector<InjectedFault> faults;
    if (!fault.empty())
      faults.push_back(*InjectedFault::parse(fault));
    std::mutex mutex;
    FaultPlan plan(faults, [&](const std::string &note) {
      std::lock_guard lock(mutex);
      notes.push_back(note);
    });
    std::unique_ptr<Backend> backend = plan.disturbMessages(createInprocBackend(numRanks, std::nullopt, timeout));
    if (isChecked)
      backend = checkMessages(std::move(backend));
    backend = plan.disturbRanks(std::move(backend));
    prepare(*backend, kind);
    EXPECT_TRUE(connectRanks(*backend, numRanks));
    results = runRanks(*backend, numRanks, [&](int64_t rank) -> Status {
      Communicator &communicator = backend->getCommunicator(rank);
      MW_TRY(communicator.execute(0));
      MW_TRY(communicator.start(1));
      MW_TRY(communicator.execute(2));
      return communicator.wait(1);
    });
  }

  void prepare(Backend &backend, Collective::Kind kind) {
    operands.assign(numRanks, std::vector<float>(count * numRanks));
    outputs.assign(numRanks * 3, std::vector<float>(count * numRanks));
    for (int64_t rank = 0; rank != numRanks; ++rank)
      for (uint32_t i = 0; i != 3; ++i) {
        for (uint64_t at = 0; at != count * numRanks; ++at)
          operands[rank][at] = static_cast<float>(rank * 1000 + static_cast<int64_t>(at) + 1);
        CollectiveCall call;
        call.kind = kind;
        call.members = {0, 1, 2};
        call.isStarted = i == 1;
        call.tag = 10 + i;
        call.name = "h.1";
        call.location = "model.mlir:88";
        constexpr uint32_t root = 1;
        bool hasIn = kind != Collective::BROADCAST || rank == root, hasOut = kind != Collective::REDUCE || rank == root;
        call.parts = {{count, hasIn ? reinterpret_cast<std::byte *>(operands[rank].data()) : nullptr,
                       hasOut ? reinterpret_cast<std::byte *>(outputs[rank * 3 + i].data()) : nullptr, root}};
        EXPECT_TRUE(backend.getCommunicator(rank).prepare(std::move(call)).ok());
      }
  }

  Status getFirst() const {
    for (const Status &status : results)
      if (!status.ok())
        return status;
    return {};
  }
};

constexpr Collective::Kind kinds[] = {Collective::ALL_REDUCE, Collective::ALL_GATHER, Collective::REDUCE_SCATTER,
                                      Collective::ALL_TO_ALL, Collective::BROADCAST,  Collective::REDUCE};

} // namespace

TEST(Faults, AreParsed) {
  auto fault = InjectedFault::parse("rank=2,op=17,kind=slow:50ms");
  ASSERT_TRUE(fault.ok());
  EXPECT_EQ(fault->rank, 2);
  EXPECT_EQ(fault->operation, 17u);
  EXPECT_EQ(fault->kind, InjectedFault::Kind::Slow);
  EXPECT_EQ(fault->delay, std::chrono::milliseconds(50));
  const std::pair<const char *, const char *> wrong[] = {
      {"rank=2,op=17", "\"rank=2,op=17\" does not say all of rank, op and kind, as rank=2,op=17,kind=hang does"},
      {"rank=2,rank=3,op=1", "rank is given twice in \"rank=2,rank=3,op=1\""},
      {"rank=x,op=1,kind=kill", "the rank \"x\" is no whole number"},
      {"rank=0,op=,kind=kill", "the op \"\" is no whole number"},
      {"rank=0,op=1,kind=burn", "the kind \"burn\" is none of kill, hang, slow:TIME, drop, corrupt"},
      {"rank=0,op=1,kind=slow", "the kind \"slow\" has no time; slow:50ms would do"},
      {"rank=0,op=1,kind=drop:1s", "the kind \"drop:1s\" takes no time"},
      {"rank=0,op=1,kind=slow:5", "the latency \"5\" has no unit; 20us would do"},
      {"rank=0,op=1,when=now", "\"when=now\" is none of rank=, op=, kind="},
  };
  for (auto [text, message] : wrong) {
    Status status = InjectedFault::parse(text).status();
    EXPECT_EQ(status.code(), Code::Usage) << text;
    EXPECT_EQ(status.message(), message);
  }
  EXPECT_EQ(FaultPlan({*fault}, {}).check(2).message(), "a fault of rank 2 is wanted, but there are 2 ranks");
  EXPECT_TRUE(FaultPlan({*fault}, {}).check(3).ok());
}

TEST(Faults, ChangedBytesChangeResultsUnlessTheyAreChecked) {
  for (Collective::Kind kind : kinds) {
    FaultyRun right(kind, "", false);
    for (uint32_t op : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("{} {}", runtime::getName(kind), op));
      std::string fault = fmt::format("rank=1,op={},kind=corrupt", op);
      FaultyRun unchecked(kind, fault, false);
      EXPECT_TRUE(unchecked.getFirst().ok());
      EXPECT_NE(unchecked.outputs, right.outputs);
      EXPECT_EQ(unchecked.operands, right.operands);
      // Those of the others are what they were.
      for (uint32_t other = 0; other != 3; ++other)
        if (other != op)
          for (int64_t rank = 0; rank != numRanks; ++rank)
            EXPECT_EQ(unchecked.outputs[rank * 3 + other], right.outputs[rank * 3 + other]);
      FaultyRun checked(kind, fault, true);
      std::string message = checked.getFirst().message();
      std::string where = fmt::format("{} #{} (h.1, model.mlir:88): what rank 1 contributed to part 0 has arrived with "
                                      "checksum crc32c:",
                                      isReducing(kind) ? "c_alltoall" : runtime::getName(kind), 10 + op);
      EXPECT_NE(message.find(where), std::string::npos) << message;
      ASSERT_EQ(checked.notes.size(), 1u);
      EXPECT_NE(checked.notes[0].find("rank 1 changes a byte of what it contributes to "), std::string::npos);
    }
  }
}

TEST(Faults, WhoContributesNothingChangesNothing) {
  FaultyRun run(Collective::BROADCAST, "rank=2,op=0,kind=corrupt", true);
  EXPECT_TRUE(run.getFirst().ok());
  EXPECT_TRUE(run.notes.empty());
}

TEST(Faults, WhatIsLeftOutIsNoticed) {
  for (Collective::Kind kind : kinds)
    for (uint32_t op : {0, 1, 2})
      for (bool isChecked : {false, true}) {
        FaultyRun run(kind, fmt::format("rank=2,op={},kind=drop", op), isChecked);
        std::string message = run.getFirst().message();
        EXPECT_NE(message.find(fmt::format("#{} (h.1, model.mlir:88)", 10 + op)), std::string::npos) << message;
        EXPECT_NE(message.find("rank 2"), std::string::npos) << message;
        ASSERT_EQ(run.notes.size(), 1u);
        EXPECT_EQ(run.notes[0], fmt::format("rank 2 leaves out {} #{} (h.1, model.mlir:88), its collective {}",
                                            runtime::getName(kind), 10 + op, op));
      }
}

TEST(Faults, WhoIsLateIsWaitedFor) {
  auto begin = std::chrono::steady_clock::now();
  FaultyRun run(Collective::ALL_REDUCE, "rank=0,op=1,kind=slow:60ms", false);
  EXPECT_TRUE(run.getFirst().ok());
  EXPECT_EQ(run.outputs, FaultyRun(Collective::ALL_REDUCE, "", false).outputs);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(120));
}

TEST(Faults, WhoIsLaterThanTheTimeoutIsNamed) {
  std::string message, expected;
  EXPECT_TRUE(happensInTime([&](double timeout) {
    std::string fault = fmt::format("rank=1,op=2,kind=slow:{:.0f}ms", 3000 * timeout);
    FaultyRun run(Collective::ALL_GATHER, fault, false, timeout);
    message = run.getFirst().message();
    expected = fmt::format("rank 1 stopped before c_allgather #12 (h.1, model.mlir:88): rank 0 has waited for it "
                           "for {} s",
                           timeout);
    return message == expected && std::all_of(run.results.begin(), run.results.end(),
                                              [](const Status &status) { return status.code() == Code::Fault; });
  })) << message
      << "\nis not\n"
      << expected;
}

/// 0 waits for 1, which waits for 2, which does something else until 0 has an error. Returns that.
static std::string getErrorOfCircle(double timeout) {
  auto backend = createInprocBackend(3, std::nullopt, timeout);
  float values[3] = {};
  auto prepare = [&](int64_t rank, std::vector<int64_t> members, uint32_t tag) {
    CollectiveCall call;
    call.parts = {{1, reinterpret_cast<std::byte *>(&values[rank]), reinterpret_cast<std::byte *>(&values[rank])}};
    call.members = std::move(members);
    call.tag = tag;
    (void)backend->getCommunicator(rank).prepare(std::move(call));
  };
  prepare(0, {0, 1}, 1);
  prepare(1, {0, 1}, 1);
  prepare(1, {1, 2}, 2);
  prepare(2, {1, 2}, 2);
  EXPECT_TRUE(connectRanks(*backend, 3));
  std::latch isOver(1);
  std::vector<Status> results = runRanks(*backend, 3, [&](int64_t rank) -> Status {
    if (rank == 1)
      return backend->getCommunicator(1).execute(1);
    if (rank == 2) {
      isOver.wait();
      return {};
    }
    Status status = backend->getCommunicator(0).execute(0);
    isOver.count_down();
    return status;
  });
  return results[0].message();
}

TEST(Timeout, LooksBehindThoseWhoWaitForOthers) {
  std::string message;
  EXPECT_TRUE(happensInTime([&](double timeout) {
    message = getErrorOfCircle(timeout);
    return message == fmt::format("rank 2 stopped before c_allreduce #2: rank 1 has waited for it for {} s", timeout);
  })) << message;
}

TEST(MessageCheck, DoesWhatTheBackendDoes) {
  std::unique_ptr<World> local = createLocalWorld();
  WorldDecorator world(
      *local, [&](std::unique_ptr<Backend> backend, const BackendOptions &) -> Result<std::unique_ptr<Backend>> {
        return checkMessages(std::move(backend));
      });
  for (int64_t ranks : {1, 2, 3}) {
    SelfTestOptions options;
    options.numRanks = ranks;
    options.isTimed = false;
    auto report = runSelfTest(world, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->verdict.ok()) << report->verdict.message();
  }
}
