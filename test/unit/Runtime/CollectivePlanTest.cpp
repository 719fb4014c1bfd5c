//===- CollectivePlanTest.cpp - collectives as messages ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the plans of all members of a group on a network of this test's own, in random order: messages are copied at
// the first moment at which they may be, or at the last. What comes out has to have the bytes that threads make. Limits
// are small, so that slices, rounds, packing and cutting into messages take place on small values.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/Reduce.h"
#include "runtime/backend/processes/Plan.h"
#include "test/runtime/mpi/CollectiveScript.h"
#include "test/unit/Runtime/RunRanks.h"
#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;
using namespace meshwright::test;

namespace {

/// Keeps what a rank prepares.
class Recorder : public Communicator {
public:
  Result<uint32_t> prepare(CollectiveCall call) override {
    calls.push_back(std::move(call));
    return static_cast<uint32_t>(calls.size() - 1);
  }
  Status connect() override { return {}; }
  Status execute(uint32_t) override { return {}; }
  Status start(uint32_t) override { return {}; }
  Status wait(uint32_t) override { return {}; }
  void finishStep(const Status &) override {}
  double getCpuSeconds(uint32_t) const override { return 0; }

  std::vector<CollectiveCall> calls;
};

/// A message of which one end or both have come.
struct Flight {
  std::byte *from = nullptr, *to = nullptr;
  uint64_t sent = 0, received = 0;
  bool isLate = false, isOver = false;
};

/// The members of one collective.
class Network {
public:
  Network(const std::vector<const CollectiveCall *> &calls, const PlanLimits &limits, std::mt19937_64 &random)
      : random(random) {
    for (size_t i = 0; i != calls.size(); ++i)
      members.emplace_back(*calls[i], planCollective(*calls[i], i, limits));
  }

  /// Returns false if no member can proceed, or if the two ends of a message do not match.
  bool run() {
    size_t unfinished = std::count_if(members.begin(), members.end(),
                                      [](const Member &member) { return !member.plan.actions.empty(); });
    for (size_t idle = 0; unfinished != 0 && idle < 1000 * members.size();) {
      Member &member = members[random() % members.size()];
      if (member.next == member.plan.actions.size() || !tryAction(member)) {
        ++idle;
        continue;
      }
      idle = 0;
      unfinished -= ++member.next == member.plan.actions.size();
    }
    return unfinished == 0 && fits;
  }

private:
  struct Member {
    Member(const CollectiveCall &call, Plan newPlan)
        : call(&call), plan(std::move(newPlan)), scratch(plan.scratchBytes + 1), batches(plan.batches.size()) {}
    const CollectiveCall *call;
    Plan plan;
    std::vector<std::byte> scratch;
    /// The messages in flight of each batch.
    std::vector<std::vector<Flight *>> batches;
    size_t next = 0;
  };
  /// The messages between two members, in order, and how many of each end there are.
  struct Line {
    std::deque<Flight> flights;
    size_t sent = 0, received = 0;
  };

  void deliver(Flight &flight) {
    fits &= flight.sent == flight.received;
    std::memcpy(flight.to, flight.from, std::min(flight.sent, flight.received));
    flight.isOver = true;
  }

  void post(Member &member, size_t index) {
    const Batch &batch = member.plan.batches[index];
    copyAll(member, batch.packed);
    size_t me = &member - members.data();
    for (const Transfer &transfer : batch.transfers) {
      Line &line = transfer.isSend ? lines[{me, transfer.peer}] : lines[{transfer.peer, me}];
      size_t position = transfer.isSend ? line.sent++ : line.received++;
      if (position == line.flights.size())
        line.flights.emplace_back().isLate = random() % 2;
      Flight &flight = line.flights[position];
      std::byte *place = transfer.place.resolve(member.scratch.data());
      (transfer.isSend ? flight.from : flight.to) = place;
      (transfer.isSend ? flight.sent : flight.received) = transfer.bytes;
      member.batches[index].push_back(&flight);
      if (flight.from && flight.to && !flight.isLate)
        deliver(flight);
    }
  }

  bool complete(Member &member, size_t index) {
    for (Flight *flight : member.batches[index])
      if (!flight->from || !flight->to)
        return false;
    for (Flight *flight : member.batches[index])
      if (!flight->isOver)
        deliver(*flight);
    copyAll(member, member.plan.batches[index].unpacked);
    return true;
  }

  static void copyAll(Member &member, const std::vector<processes::Copy> &copies) {
    for (const processes::Copy &copy : copies)
      std::memcpy(copy.to.resolve(member.scratch.data()), copy.from.resolve(member.scratch.data()), copy.bytes);
  }

  static void reduce(Member &member, const Reduction &reduction) {
    std::vector<const std::byte *> inputs;
    for (const Place &input : reduction.inputs)
      inputs.push_back(input.resolve(member.scratch.data()));
    std::byte *output = reduction.output.resolve(member.scratch.data());
    getReduceFn(member.call->reduction, member.call->type)(inputs, std::span(&output, 1), 0, reduction.count);
  }

  bool tryAction(Member &member) {
    const Action &action = member.plan.actions[member.next];
    switch (action.kind) {
    case Action::Kind::Post:
      post(member, action.index);
      return true;
    case Action::Kind::Complete:
      return complete(member, action.index);
    case Action::Kind::Reduce:
      reduce(member, member.plan.reductions[action.index]);
      return true;
    case Action::Kind::Copy:
      copyAll(member, {member.plan.copies[action.index]});
    }
    return true;
  }

  std::mt19937_64 &random;
  std::vector<Member> members;
  std::map<std::pair<size_t, size_t>, Line> lines;
  bool fits = true;
};

/// Runs a script by plans; what a collective is called that does not come to its end.
std::string runByPlans(const CollectiveScript &script, std::vector<ScriptedRank> &ranks, const PlanLimits &limits,
                       std::mt19937_64 &random) {
  std::vector<Recorder> recorders(ranks.size());
  for (size_t rank = 0; rank != ranks.size(); ++rank)
    (void)ranks[rank].prepare(recorders[rank]);
  std::vector<size_t> next(ranks.size());
  for (const ScriptedCall &scripted : script.getCalls()) {
    std::vector<const CollectiveCall *> calls;
    for (int64_t member : scripted.call.members)
      calls.push_back(&recorders[member].calls[next[member]++]);
    if (!Network(calls, limits, random).run())
      return fmt::format("{} #{}", runtime::getName(scripted.call.kind), scripted.call.tag);
  }
  return "";
}

void check(uint64_t seed, int64_t numRanks, uint64_t maxCount, const PlanLimits &limits) {
  SCOPED_TRACE(fmt::format("seed {} ranks {}", seed, numRanks));
  CollectiveScript script(seed, numRanks, 12, maxCount);
  std::vector<ScriptedRank> planned, expected;
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    planned.emplace_back(script, seed, rank);
    expected.emplace_back(script, seed, rank);
  }
  auto backend = createInprocBackend(numRanks);
  for (int64_t rank = 0; rank != numRanks; ++rank)
    ASSERT_TRUE(expected[rank].prepare(backend->getCommunicator(rank)).ok());
  ASSERT_TRUE(connectRanks(*backend, numRanks));
  for (const Status &status :
       runRanks(*backend, numRanks, [&](int64_t rank) { return expected[rank].run(backend->getCommunicator(rank)); }))
    ASSERT_TRUE(status.ok()) << status.message();
  std::mt19937_64 random(seed);
  ASSERT_EQ(runByPlans(script, planned, limits, random), "") << "does not come to its end";
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    const CollectiveCall *call = planned[rank].findDifference(expected[rank]);
    ASSERT_EQ(call, nullptr) << "rank " << rank << ": " << runtime::getName(call->kind) << " #" << call->tag;
  }
}

} // namespace

TEST(MpiPlan, RandomCollectivesOfAllKinds) {
  for (uint64_t seed = 0; seed != 60; ++seed)
    check(seed, 1 + static_cast<int64_t>(seed % 6), 4000, {});
}

TEST(MpiPlan, SlicesRoundsAndMessagesThatAreCut) {
  for (uint64_t seed = 0; seed != 120; ++seed)
    check(1000 + seed, 1 + static_cast<int64_t>(seed % 5), 3000,
          {.direct = 64 * (seed % 3),
           .tree = 500 * (seed % 4),
           .slice = 64,
           .round = 256 + 100 * (seed % 7),
           .packed = 100,
           .message = 150});
}

TEST(MpiPlan, SmallPartsAreOneMessage) {
  std::vector<float> in(20), out(20);
  CollectiveCall call;
  call.members = {0, 1};
  for (int i = 0; i != 20; ++i)
    call.parts.push_back({1, reinterpret_cast<std::byte *>(&in[i]), reinterpret_cast<std::byte *>(&out[i])});
  Plan plan = planCollective(call, 0);
  ASSERT_EQ(plan.batches.size(), 1u);
  EXPECT_EQ(plan.batches[0].transfers.size(), 2u);
}

TEST(MpiPlan, BytesOfALargeSumAreThoseOfTheBestAlgorithms) {
  constexpr uint64_t count = 1 << 20, ranks = 8;
  std::vector<float> in(count), out(count);
  CollectiveCall call;
  for (uint64_t rank = 0; rank != ranks; ++rank)
    call.members.push_back(static_cast<int64_t>(rank));
  call.parts.push_back({count, reinterpret_cast<std::byte *>(in.data()), reinterpret_cast<std::byte *>(out.data())});
  uint64_t sent = 0;
  for (const Batch &batch : planCollective(call, 3).batches)
    for (const Transfer &transfer : batch.transfers)
      sent += transfer.isSend ? transfer.bytes : 0;
  EXPECT_EQ(static_cast<double>(sent), getSentBytes(Collective::ALL_REDUCE, ranks, count * sizeof(float)));
}

namespace {

/// The bytes and messages that a member sends in a broadcast from member 2.
struct BroadcastLoad {
  uint64_t bytes = 0, messages = 0;
};

std::vector<BroadcastLoad> getBroadcastLoads(uint64_t bytes, uint64_t members) {
  std::vector<std::byte> value(bytes), result(bytes);
  CollectiveCall call;
  call.kind = Collective::BROADCAST;
  call.type = U8;
  for (uint64_t member = 0; member != members; ++member)
    call.members.push_back(static_cast<int64_t>(member));
  call.parts.push_back({bytes, value.data(), result.data(), 2});
  std::vector<BroadcastLoad> loads(members);
  for (uint64_t member = 0; member != members; ++member)
    for (const Batch &batch : planCollective(call, member).batches)
      for (const Transfer &transfer : batch.transfers) {
        loads[member].bytes += transfer.isSend ? transfer.bytes : 0;
        loads[member].messages += transfer.isSend;
      }
  return loads;
}

} // namespace

TEST(BroadcastPlan, ASmallOneGoesOverATree) {
  std::vector<BroadcastLoad> loads = getBroadcastLoads(4, 8);
  // The member at distance d from the root sends to distances d + 2^k with 2^k > d.
  const uint64_t sends[] = {0, 0, 3, 2, 1, 1, 0, 0};
  for (uint64_t member = 0; member != 8; ++member)
    EXPECT_EQ(loads[member].messages, sends[member]) << "member " << member;
  EXPECT_EQ(loads[2].bytes, 12u);
}

TEST(BroadcastPlan, NobodySendsALargeOneMoreThanOnce) {
  constexpr uint64_t bytes = 7 << 20;
  std::vector<BroadcastLoad> loads = getBroadcastLoads(bytes, 8);
  // The root a slice to each; each of the others its own to six.
  for (uint64_t member = 0; member != 8; ++member)
    EXPECT_EQ(loads[member].bytes, member == 2 ? bytes : bytes / 7 * 6) << "member " << member;
}

TEST(BroadcastPlan, WhereAllAreRootsEachSendsItsOwn) {
  std::vector<std::byte> values(4 * 4096);
  CollectiveCall call;
  call.kind = Collective::BROADCAST;
  call.type = U8;
  call.members = {0, 1, 2, 3};
  for (uint32_t root = 0; root != 4; ++root)
    call.parts.push_back({4096, values.data() + root * 4096, values.data() + root * 4096, root});
  Plan plan = planCollective(call, 1);
  ASSERT_EQ(plan.batches.size(), 1u);
  EXPECT_EQ(plan.batches[0].transfers.size(), 6u);
}
