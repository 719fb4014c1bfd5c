//===- AsyncTest.cpp - collectives that overlap with computation ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of starts, waits and computation, against the same programs with every collective waited for at once;
// what happens when ranks do not come; and the least time that a modelled link takes.
//
//===----------------------------------------------------------------------===//

#include "RunRanks.h"
#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/Inproc.h"
#include "test/unit/Random.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr int64_t rows = 2, columns = 3, ranks = rows * columns;
constexpr size_t numBuffers = 6, elements = 60;
constexpr Collective::Kind kinds[] = {Collective::ALL_REDUCE, Collective::ALL_GATHER, Collective::REDUCE_SCATTER,
                                      Collective::ALL_TO_ALL, Collective::BROADCAST,  Collective::REDUCE};

/// The actions of every rank in order: issue collective `number`, wait for it, or add 1 to a buffer.
struct Action {
  enum Kind { Issue, Wait, Add } kind;
  size_t number;
};

/// A collective from some buffers to others, over the rows, the columns or all ranks of a 2 x 3 mesh.
struct Move {
  Collective::Kind kind;
  int group;
  bool started;
  /// The buffers of every part; in the same place where they are equal.
  std::vector<std::pair<size_t, size_t>> parts;
};

std::vector<int64_t> getMembers(int group, int64_t rank) {
  std::vector<int64_t> members;
  for (int64_t other = 0; other != ranks; ++other)
    if (group == 2 || (group == 0 ? other / columns == rank / columns : other % columns == rank % columns))
      members.push_back(other);
  return members;
}

struct RandomProgram {
  std::vector<Move> moves;
  std::vector<Action> actions;

  explicit RandomProgram(Random &random) {
    std::vector<size_t> inFlight;
    auto isFree = [&](size_t buffer) {
      for (size_t number : inFlight)
        for (auto [in, out] : moves[number].parts)
          if (buffer == in || buffer == out)
            return false;
      return true;
    };
    auto wait = [&](size_t at) {
      actions.push_back({Action::Wait, inFlight[at]});
      inFlight.erase(inFlight.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (int step = 0; step != 30; ++step) {
      if (random.chance(40)) {
        moves.push_back(pickMove(random));
        actions.push_back({Action::Issue, moves.size() - 1});
        if (moves.back().started)
          inFlight.push_back(moves.size() - 1);
      } else if (!inFlight.empty() && random.chance(40)) {
        wait(random.pick(0, static_cast<int64_t>(inFlight.size()) - 1));
      } else if (size_t buffer = random.pick(0, numBuffers - 1); isFree(buffer)) {
        actions.push_back({Action::Add, buffer});
      }
    }
    while (!inFlight.empty())
      wait(inFlight.size() - 1);
  }

private:
  static Move pickMove(Random &random) {
    Move move;
    move.kind = kinds[random.pick(0, 5)];
    move.group = static_cast<int>(random.pick(0, 2));
    move.started = random.chance(75);
    std::vector<size_t> left = {0, 1, 2, 3, 4, 5};
    auto take = [&] {
      size_t at = random.pick(0, static_cast<int64_t>(left.size()) - 1), buffer = left[at];
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      return buffer;
    };
    for (int64_t parts = random.pick(1, 3); parts != 0; --parts) {
      size_t in = take();
      bool inPlace = (move.kind == Collective::ALL_REDUCE || hasRoot(move.kind)) && random.chance(50);
      move.parts.push_back({in, inPlace ? in : take()});
    }
    return move;
  }
};

using Buffers = std::vector<std::vector<std::vector<int64_t>>>;

Status prepare(const Move &move, uint32_t tag, int64_t rank, Buffers &buffers, Communicator &communicator) {
  CollectiveCall call;
  call.kind = move.kind;
  call.type = I64;
  call.members = getMembers(move.group, rank);
  call.isStarted = move.started;
  call.tag = tag;
  uint64_t n = call.members.size();
  uint64_t count = hasOperandPerMember(move.kind) || hasResultPerMember(move.kind) ? elements / n : elements;
  for (size_t i = 0; i != move.parts.size(); ++i) {
    auto [in, out] = move.parts[i];
    uint32_t root = static_cast<uint32_t>((tag + i) % n);
    bool isRoot = call.members[root] == rank;
    auto *from = reinterpret_cast<std::byte *>(buffers[rank][in].data());
    auto *to = reinterpret_cast<std::byte *>(buffers[rank][out].data());
    call.parts.push_back({count, move.kind == Collective::BROADCAST && !isRoot ? nullptr : from,
                          move.kind == Collective::REDUCE && !isRoot ? nullptr : to, root});
  }
  return communicator.prepare(std::move(call)).status();
}

/// The contents of the buffers after three steps; with `blocking`, every collective is waited for when it is issued.
Buffers runProgram(const RandomProgram &program, bool blocking, const std::optional<LinkModel> &link) {
  auto backend = createInprocBackend(ranks, link);
  Buffers buffers(ranks);
  for (int64_t rank = 0; rank != ranks; ++rank) {
    for (size_t i = 0; i != numBuffers; ++i) {
      buffers[rank].emplace_back(elements);
      for (size_t j = 0; j != elements; ++j)
        buffers[rank][i][j] = static_cast<int64_t>(rank * 1000003 + i * 1009 + j);
    }
    for (size_t i = 0; i != program.moves.size(); ++i) {
      Move move = program.moves[i];
      move.started &= !blocking;
      EXPECT_TRUE(prepare(move, static_cast<uint32_t>(i), rank, buffers, backend->getCommunicator(rank)).ok());
    }
  }
  EXPECT_TRUE(connectRanks(*backend, ranks));
  for (int step = 0; step != 3; ++step)
    for (const Status &status : runRanks(*backend, ranks, [&](int64_t rank) -> Status {
           Communicator &communicator = backend->getCommunicator(rank);
           for (Action action : program.actions) {
             bool started = !blocking && action.kind != Action::Add && program.moves[action.number].started;
             uint32_t number = static_cast<uint32_t>(action.number);
             if (action.kind == Action::Issue)
               MW_TRY(started ? communicator.start(number) : communicator.execute(number));
             else if (action.kind == Action::Wait && started)
               MW_TRY(communicator.wait(number));
             else if (action.kind == Action::Add)
               for (int64_t &element : buffers[rank][action.number])
                 ++element;
           }
           return {};
         }))
      EXPECT_TRUE(status.ok()) << status.message();
  return buffers;
}

/// Ranks 0 and 1, and all-reduces of one float each that rank 0 announces as started.
struct Pair {
  std::unique_ptr<Backend> backend;
  float values[2][8] = {};

  explicit Pair(const std::optional<LinkModel> &link = std::nullopt) : backend(createInprocBackend(2, link)) {}

  Communicator &get(int64_t rank) { return backend->getCommunicator(rank); }
  void add(int64_t rank, uint32_t tag, uint64_t count = 1) {
    CollectiveCall call;
    std::byte *buffer = reinterpret_cast<std::byte *>(&values[rank][tag]);
    call.parts = {{count, buffer, buffer}};
    call.members = {0, 1};
    call.isStarted = true;
    call.tag = tag;
    call.name = "grad/w";
    call.location = "model.mlir:88";
    ASSERT_TRUE(get(rank).prepare(std::move(call)).ok());
  }
};

} // namespace

TEST(Async, RandomProgramsGiveWhatTheBlockingOnesGive) {
  Random random;
  for (int round = 0; round != 60; ++round) {
    RandomProgram program(random);
    std::optional<LinkModel> link;
    if (round % 10 == 0)
      link = LinkModel{20e-6, 1e9};
    ASSERT_EQ(runProgram(program, false, link), runProgram(program, true, std::nullopt)) << "round " << round;
  }
}

TEST(Async, ManyRanksOnFewCores) {
  // 32 ranks of which each has three rings in flight at a time.
  constexpr int64_t many = 32;
  auto backend = createInprocBackend(many);
  std::vector<std::vector<int64_t>> values(many, std::vector<int64_t>(8));
  for (int64_t rank = 0; rank != many; ++rank)
    for (int i = 0; i != 8; ++i) {
      CollectiveCall call;
      call.type = I64;
      call.isStarted = true;
      call.tag = i;
      for (int64_t member = 0; member != many; ++member)
        if (i % 2 == 0 || member / 8 == rank / 8)
          call.members.push_back(member);
      std::byte *buffer = reinterpret_cast<std::byte *>(&values[rank][i]);
      call.parts = {{1, buffer, buffer}};
      ASSERT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
    }
  ASSERT_TRUE(connectRanks(*backend, many));
  for (int step = 0; step != 10; ++step) {
    for (const Status &status : runRanks(*backend, many, [&](int64_t rank) -> Status {
           Communicator &communicator = backend->getCommunicator(rank);
           for (uint32_t i = 0; i != 11; ++i) {
             if (i >= 3)
               MW_TRY(communicator.wait(i - 3));
             if (i >= 8)
               continue;
             values[rank][i] = rank + i;
             MW_TRY(communicator.start(i));
           }
           return {};
         }))
      ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t rank = 0; rank != many; ++rank)
      for (int64_t i = 0; i != 8; ++i)
        EXPECT_EQ(values[rank][i], i % 2 == 0 ? many * (many - 1) / 2 + many * i : 8 * (rank / 8 * 8) + 28 + 8 * i);
  }
}

TEST(Async, ErrorsComeOutAtTheWait) {
  Pair pair;
  pair.add(0, 0, 2);
  pair.add(1, 0, 3);
  ASSERT_TRUE(connectRanks(*pair.backend, 2));
  std::vector<Status> started(2);
  for (const Status &status : runRanks(*pair.backend, 2, [&](int64_t rank) {
         started[rank] = pair.get(rank).start(0);
         return pair.get(rank).wait(0);
       })) {
    EXPECT_EQ(status.code(), Code::Fault);
    EXPECT_EQ(status.message(), "rank 0: c_allreduce #0 (grad/w, model.mlir:88) of 2 f32 meets rank 1: c_allreduce #0 "
                                "(grad/w, model.mlir:88) of 3 f32");
  }
}

TEST(Async, RankThatDoesNotComeIsNamed) {
  // Rank 1 has finished; or it waits, for something else that will not come.
  for (bool waits : {false, true}) {
    Pair pair;
    for (uint32_t tag : {0, 1}) {
      pair.add(0, tag);
      pair.add(1, tag);
    }
    ASSERT_TRUE(connectRanks(*pair.backend, 2));
    std::vector<Status> results = runRanks(*pair.backend, 2, [&](int64_t rank) -> Status {
      MW_TRY(pair.get(rank).start(0));
      MW_TRY(pair.get(rank).wait(0));
      if (rank == 1 && !waits)
        return {};
      MW_TRY(pair.get(rank).start(1));
      MW_TRY(pair.get(rank).wait(1));
      return rank == 0 && waits ? pair.get(rank).execute(0) : Status();
    });
    EXPECT_EQ(results[0].message(), fmt::format("rank 0: c_allreduce #{} (grad/w, model.mlir:88) waits for rank 1, "
                                                "which is not coming: every rank waits or has finished",
                                                waits ? 0 : 1));
    EXPECT_TRUE(results[1].ok());
  }
}

TEST(Async, ErrorOnOneRankReleasesTheOthers) {
  Pair pair;
  for (uint32_t tag : {0, 1}) {
    pair.add(0, tag);
    pair.add(1, tag);
  }
  ASSERT_TRUE(connectRanks(*pair.backend, 2));
  std::vector<Status> results = runRanks(*pair.backend, 2, [&](int64_t rank) -> Status {
    if (rank == 1)
      return faultError("rank 1: a kernel failed");
    MW_TRY(pair.get(rank).start(0));
    MW_TRY(pair.get(rank).start(1));
    return pair.get(rank).wait(1);
  });
  EXPECT_EQ(results[0].message(), "rank 1: a kernel failed");
}

//===----------------------------------------------------------------------===//
// The modelled link
//===----------------------------------------------------------------------===//

/// Seconds that two ranks take for what fn does.
static double measure(Pair &pair, const std::function<Status(int64_t)> &fn) {
  auto begin = std::chrono::steady_clock::now();
  for (const Status &status : runRanks(*pair.backend, 2, fn))
    EXPECT_TRUE(status.ok()) << status.message();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Link, CollectivesTakeTheirTimeOneAfterTheOther) {
  // An all-reduce of 4 bytes over two ranks sends 4: 5 ms + 4 / 400 s.
  Pair pair(LinkModel{5e-3, 400});
  for (uint32_t tag : {0, 1, 2})
    for (int64_t rank : {0, 1})
      pair.add(rank, tag);
  ASSERT_TRUE(connectRanks(*pair.backend, 2));
  EXPECT_GE(measure(pair, [&](int64_t rank) { return pair.get(rank).execute(0); }), 0.015);
  EXPECT_GE(measure(pair,
                    [&](int64_t rank) -> Status {
                      for (uint32_t tag : {0, 1, 2})
                        MW_TRY(pair.get(rank).start(tag));
                      return pair.get(rank).wait(2);
                    }),
            0.045);
  // The time runs from when the last member has issued it.
  EXPECT_GE(measure(pair,
                    [&](int64_t rank) -> Status {
                      if (rank == 1)
                        std::this_thread::sleep_for(std::chrono::milliseconds(20));
                      return pair.get(rank).execute(0);
                    }),
            0.035);
  pair.backend->setProfiling(true);
  double before = pair.get(0).getCpuSeconds(0);
  EXPECT_EQ(before, 0);
  measure(pair, [&](int64_t rank) { return pair.get(rank).execute(0); });
  EXPECT_GT(pair.get(0).getCpuSeconds(0), 0);
}

/// The sum of the squares of the relative errors.
static double getError(const LinkModel &link, std::span<const LinkModel::Point> points) {
  double sum = 0;
  for (const LinkModel::Point &point : points)
    sum += std::pow(link.getSeconds(point.bytes) / point.seconds - 1, 2);
  return sum;
}

// Tests that a link is found again from the times that it takes, and that no link near the one that is found is better.
TEST(Link, IsFitted) {
  LinkModel exact{20e-6, 2e9};
  std::vector<LinkModel::Point> points;
  for (double bytes : {0.0, 1e3, 65e3, 1e6, 8e6})
    points.push_back({bytes, exact.getSeconds(bytes)});
  LinkModel found = LinkModel::fit(points);
  EXPECT_NEAR(found.latency, 20e-6, 1e-15);
  EXPECT_NEAR(found.bandwidth, 2e9, 1);

  for (size_t i = 0; i != points.size(); ++i)
    points[i].seconds *= i % 2 ? 1.3 : 0.8;
  found = LinkModel::fit(points);
  for (double latency : {0.99, 1.0, 1.01})
    for (double bandwidth : {0.99, 1.0, 1.01})
      EXPECT_LE(getError(found, points),
                getError({found.latency * latency, found.bandwidth * bandwidth}, points) + 1e-15);

  // Small messages that are faster than any latency allows, and large ones that cost nothing.
  std::vector<LinkModel::Point> convex = {{1e3, 1e-7}, {1e6, 1e-3}}, flat = {{1e3, 1e-3}, {1e6, 0.9e-3}};
  EXPECT_EQ(LinkModel::fit(convex).latency, 0);
  EXPECT_NEAR(LinkModel::fit(flat).getSeconds(1e6), 0.945e-3, 1e-5);
  auto parsed = LinkModel::parse(found.toString());
  ASSERT_TRUE(parsed.ok());
  EXPECT_NEAR(parsed->latency, found.latency, 0.01 * found.latency);
  EXPECT_NEAR(parsed->bandwidth, found.bandwidth, 0.01 * found.bandwidth);
}

TEST(Link, IsParsed) {
  auto link = LinkModel::parse("20us,2GB/s");
  ASSERT_TRUE(link.ok());
  EXPECT_DOUBLE_EQ(link->latency, 20e-6);
  EXPECT_DOUBLE_EQ(link->bandwidth, 2e9);
  EXPECT_DOUBLE_EQ(link->getSeconds(4e9), 2 + 20e-6);
  EXPECT_DOUBLE_EQ(LinkModel::parse("0s,0.5KiB/s")->bandwidth, 512);
  EXPECT_EQ(link->toString(), "20us,2GB/s");
  EXPECT_DOUBLE_EQ(LinkModel::parse("1.5ms,100Gbit/s")->bandwidth, 12.5e9);
  auto getError = [](const char *text) {
    Status status = LinkModel::parse(text).status();
    EXPECT_EQ(status.code(), Code::Usage);
    return status.message();
  };
  EXPECT_EQ(getError("20us"), "\"20us\" is not of the form LATENCY,BANDWIDTH, as in 20us,2GB/s");
  EXPECT_EQ(getError("20,2GB/s"), "the latency \"20\" has no unit; 20us would do");
  EXPECT_EQ(getError("20us,2GB"), "the bandwidth \"2GB\" has the unit \"GB\", which is not known; 2GB/s would do");
  EXPECT_EQ(getError("us,2GB/s"), "the latency \"us\" does not begin with a number; 20us would do");
  EXPECT_EQ(getError("20us,nanGB/s"), "the bandwidth \"nanGB/s\" does not begin with a number; 2GB/s would do");
  EXPECT_EQ(getError("-1us,2GB/s"), "the latency -1us is not between 0 and 60 s");
  EXPECT_EQ(getError("2000s,2GB/s"), "the latency 2000s is not between 0 and 60 s");
  EXPECT_EQ(getError("1us,0GB/s"), "the bandwidth 0GB/s is not above 0");
}
