//===- FlightRecorderTest.cpp - tests of the flight recorder --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records hand-made runs and checks the files: the last events, the next instructions, the reports of ranks in other
// processes, and the message that names the rank on which the others wait.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/FlightRecorder.h"
#include "RunRanks.h"
#include "TempFolder.h"
#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/Json.h"
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

using Kind = RankFlight::Kind;

/// Two tasks of two kernels each, of which the second runs in the second of two steps alone.
Program makeProgram() {
  Program program;
  for (const char *name : {"forward", "update"}) {
    Task *task = program.add_tasks();
    task->set_name(name);
    for (int i = 0; i != 2; ++i) {
      Instruction *instruction = task->add_instructions();
      instruction->mutable_kernel();
      instruction->set_name(fmt::format("{}.{}", name, i));
      instruction->set_location(fmt::format("model.mlir:{}", i + 1));
    }
  }
  for (uint32_t task : {0, 1}) {
    ScheduleItem *item = program.add_schedule();
    item->set_task(task);
    item->set_first_step(task);
    item->set_end_step(2);
  }
  return program;
}

CollectiveCall makeCall(uint32_t tag) {
  CollectiveCall call;
  call.tag = tag;
  call.name = "loss";
  call.members = {0, 1};
  return call;
}

Json readFlight(const TempFolder &folder, const std::string &name) {
  auto json = parseJson(folder.read(name));
  EXPECT_TRUE(json.ok());
  return json.ok() ? *json : Json();
}

FlightState makeState(int64_t rank, uint64_t step, std::string collective, std::vector<int64_t> members) {
  return {rank, step, std::move(collective), std::move(members), fmt::format("kernel \"k{}\"", rank)};
}

} // namespace

TEST(FlightRecorder, KeepsTheLastEvents) {
  RankFlight flight(3);
  for (uint32_t i = 0; i != RankFlight::capacity + 10; ++i)
    flight.beginInstruction(7, i);
  std::vector<RankFlight::Event> events = flight.getEvents();
  ASSERT_EQ(events.size(), RankFlight::capacity);
  for (uint32_t i = 0; i != events.size(); ++i) {
    EXPECT_EQ(events[i].kind, Kind::Instruction);
    EXPECT_EQ(events[i].item, 7u);
    EXPECT_EQ(events[i].number, i + 10);
  }
}

TEST(FlightRecorder, WritesWhatWasDoneAndWhatIsNext) {
  Program program = makeProgram();
  TempFolder folder;
  FlightRecorder recorder;
  recorder.setFirstStep(40);
  RankFlight &flight = recorder.getRank(1);
  flight.setProgram(program);
  flight.addCollective(0, makeCall(5));
  flight.beginStep(0);
  flight.beginInstruction(0, 0);
  flight.endStep();
  flight.beginStep(1);
  flight.beginInstruction(0, 0);
  flight.noteCollective(Kind::Issue, 0);
  auto written = recorder.write(folder / "new/flights", faultError("it broke"));
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(*written, 1u);
  Json json = readFlight(folder, "new/flights/flight-1.json");
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["reason"], "it broke");
  EXPECT_EQ(json["step"], 41);
  EXPECT_EQ(json["waits_in"], "c_allreduce #5 (loss)");
  EXPECT_EQ(json["members"], Json({0, 1}));
  EXPECT_EQ(json["last"], "kernel \"forward.0\" (model.mlir:1) of task \"forward\", micro-batch 0");
  // The rest of the task, and the other one, which runs at this position of the accumulation.
  ASSERT_EQ(json["next"].size(), 3u);
  EXPECT_EQ(json["next"][0]["name"], "forward.1");
  EXPECT_EQ(json["next"][1]["name"], "update.0");
  EXPECT_EQ(json["next"][2]["name"], "update.1");
  std::vector<std::string> events;
  for (const Json &event : json["events"])
    events.push_back(event["event"]);
  EXPECT_EQ(events,
            (std::vector<std::string>{"step", "instruction", "step over", "step", "instruction", "collective issued"}));
  EXPECT_EQ(json["events"][5]["tag"], 5);
}

TEST(FlightRecorder, AnItemThatDoesNotRunIsNotNext) {
  Program program = makeProgram();
  TempFolder folder;
  FlightRecorder recorder;
  RankFlight &flight = recorder.getRank(0);
  flight.setProgram(program);
  flight.beginStep(0);
  flight.beginInstruction(0, 1);
  ASSERT_TRUE(recorder.write(folder / "flights", faultError("it broke")).ok());
  EXPECT_TRUE(readFlight(folder, "flights/flight-0.json")["next"].empty());
}

TEST(FlightRecorder, HearsOfRanksInOtherProcesses) {
  TempFolder folder;
  auto begin = std::filesystem::file_time_type::min();
  FlightRecorder other;
  RankFlight &flight = other.getRank(1);
  flight.addCollective(0, makeCall(5));
  flight.beginStep(0);
  flight.noteCollective(Kind::Issue, 0);
  ASSERT_TRUE(other.write(folder / "flights", faultError("it broke")).ok());
  std::vector<FlightState> states = {makeState(0, 0, "", {})};
  addFlightStates(folder / "flights", begin, 2, 1, states);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1].rank, 1);
  EXPECT_EQ(states[1].collective, "c_allreduce #5 (loss)");
  EXPECT_EQ(states[1].members, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(states[1].doing, "nothing");
}

TEST(FlightRecorder, HearsNothingFromFilesThatAreNoFlights) {
  const std::string whole = R"({"rank": 0, "step": 1, "waits_in": "", "last": "", "members": [0]})";
  ASSERT_TRUE(parseJson(whole).ok());
  std::vector<std::string> texts = {"", "[]", R"({"rank": 0})"};
  const std::vector<std::pair<std::string, std::string>> mistakes = {{R"("rank": 0)", R"("rank": "0")"},
                                                                     {R"("rank": 0)", R"("rank": 1)"},
                                                                     {R"("step": 1)", R"("step": -1)"},
                                                                     {R"("waits_in": "")", R"("waits_in": 1)"},
                                                                     {R"("last": "")", R"("last": [])"},
                                                                     {"[0]", "0"},
                                                                     {"[0]", R"(["0"])"}};
  for (const auto &[right, wrong] : mistakes) {
    std::string text = whole;
    texts.push_back(text.replace(text.find(right), right.size(), wrong));
  }
  auto hear = [](const std::string &text) {
    TempFolder folder;
    folder.write("flight-0.json", text);
    std::vector<FlightState> states;
    addFlightStates(folder / "", std::filesystem::file_time_type::min(), 1, 0.04, states);
    return states.size();
  };
  EXPECT_EQ(hear(whole), 1u);
  for (const std::string &text : texts)
    EXPECT_EQ(hear(text), 0u) << text;
}

TEST(FlightRecorder, SaysWhoHasComeAndWhoHasNot) {
  std::vector<int64_t> all = {0, 1, 2};
  EXPECT_EQ(describeDisagreement({makeState(0, 2, "c_allreduce #1", all), makeState(1, 2, "", {}),
                                  makeState(2, 2, "c_allreduce #1", all)}),
            "to c_allreduce #1 of step 2 ranks 0, 2 have come; rank 1 has not: its last in step 2 was kernel \"k1\"");
  // Rank 0 waits for rank 1, which waits for rank 2: the origin is rank 2.
  EXPECT_EQ(describeDisagreement(
                {makeState(0, 2, "c_send #1", {0, 1}), makeState(1, 2, "c_send #2", {1, 2}), makeState(2, 1, "", {})}),
            "to c_send #2 of step 2 rank 1 has come; rank 2 has not: its last in step 1 was kernel \"k2\"");
  EXPECT_EQ(describeDisagreement({makeState(0, 2, "c_send #1", {0, 5})}),
            "to c_send #1 of step 2 rank 0 has come; rank 5 has said nothing");
  EXPECT_EQ(describeDisagreement({makeState(0, 2, "", {}), makeState(1, 2, "", {})}), "");
}

/// The report of a flight recorder of three ranks, one of which is `late` seconds late, and the report for the same
/// waits in a run of a thousand times the length.
static std::pair<std::string, std::string> findStragglers(double late) {
  std::unique_ptr<World> world = createLocalWorld();
  FlightRecorder recorder;
  std::unique_ptr<Backend> backend = recorder.record(createInprocBackend(3));
  float values[3] = {};
  for (int64_t rank = 0; rank != 3; ++rank) {
    CollectiveCall call;
    call.members = {0, 1, 2};
    call.parts = {{1, reinterpret_cast<std::byte *>(&values[rank]), reinterpret_cast<std::byte *>(&values[rank])}};
    EXPECT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
  }
  EXPECT_TRUE(connectRanks(*backend, 3));
  auto begin = std::chrono::steady_clock::now();
  runRanks(*backend, 3, [&](int64_t rank) {
    if (rank == 1)
      std::this_thread::sleep_for(std::chrono::duration<double>(late));
    return backend->getCommunicator(rank).execute(0);
  });
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto found = recorder.findStraggler(*world, seconds), inLongRun = recorder.findStraggler(*world, 1000 * seconds);
  EXPECT_TRUE(found.ok() && inLongRun.ok());
  return {*found, *inLongRun};
}

TEST(FlightRecorder, NamesTheRankThatOthersWaitFor) {
  std::pair<std::string, std::string> found;
  EXPECT_TRUE(happensInTime([&](double late) {
    found = findStragglers(late);
    return found.first.starts_with("the others wait for rank 1: it has waited ");
  })) << found.first;
  // A run that took much longer than that has no straggler.
  EXPECT_EQ(found.second, "");
}

TEST(FlightRecorder, FoldersThatCannotBeMadeAreErrors) {
  FlightRecorder recorder;
  EXPECT_EQ(recorder.write("/dev/null/flights", faultError("rank 0 failed")).status().message(),
            "cannot make the folder /dev/null/flights: Not a directory");
}
