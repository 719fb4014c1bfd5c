//===- CollectivesTest.cpp - the conformance suite of backends ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operation x reduction x type x size x ranks, against a sum made element by element in the order of the group; then
// overlapping groups, the same bits in every run, and what happens when ranks disagree.
//
//===----------------------------------------------------------------------===//

#include "RunRanks.h"
#include "meshwright/runtime/Inproc.h"
#include "test/unit/Random.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

const std::vector<DType> allTypes = {F32, F64, BF16, F16, I1, I8, I16, I32, I64, U8, U16, U32, U64};
const std::vector<Collective::Kind> allKinds = {Collective::ALL_REDUCE,     Collective::ALL_GATHER,
                                                Collective::REDUCE_SCATTER, Collective::ALL_TO_ALL,
                                                Collective::BROADCAST,      Collective::REDUCE};
const std::vector<Collective::Reduction> allReductions = {Collective::SUM, Collective::PRODUCT, Collective::MAX,
                                                          Collective::MIN, Collective::AND,     Collective::OR,
                                                          Collective::TREE};

/// A buffer of random elements of a type, small numbers so that products stay finite.
std::vector<std::byte> makeElements(Random &random, DType type, uint64_t count) {
  std::vector<std::byte> bytes(count * getSize(type));
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    T *elements = reinterpret_cast<T *>(bytes.data());
    for (uint64_t i = 0; i != count; ++i) {
      if constexpr (std::is_integral_v<T>)
        elements[i] = static_cast<T>(type == I1 ? random.pick(0, 1) : random.pick(0, 255));
      else
        elements[i] = T(static_cast<float>(random.pick(-1000, 1000)) / 300);
    }
  });
  return bytes;
}

/// The reduction by hand, of one element of all buffers.
template <typename T> T reduceByHand(Collective::Reduction reduction, const std::vector<T> &values) {
  using A = typename AccumulatorOf<T>::Type;
  if (reduction == Collective::TREE) {
    // Neighbours, then neighbouring pairs, and so on; one without a neighbour waits. Each sum is a T.
    std::vector<A> sums;
    for (T value : values)
      sums.push_back(static_cast<A>(value));
    for (size_t step = 1; step < sums.size(); step *= 2)
      for (size_t i = 0; i + step < sums.size(); i += 2 * step)
        sums[i] = static_cast<A>(static_cast<T>(sums[i] + sums[i + step]));
    return static_cast<T>(sums[0]);
  }
  A sum = static_cast<A>(values[0]);
  for (size_t i = 1; i != values.size(); ++i) {
    A x = static_cast<A>(values[i]);
    switch (reduction) {
    case Collective::SUM:
      sum = static_cast<A>(sum + x);
      break;
    case Collective::PRODUCT:
      if constexpr (std::is_integral_v<A>)
        sum = static_cast<A>(static_cast<uint64_t>(sum) * static_cast<uint64_t>(x));
      else
        sum = sum * x;
      break;
    case Collective::MAX:
      sum = std::max(sum, x);
      break;
    case Collective::MIN:
      sum = std::min(sum, x);
      break;
    default:
      if constexpr (std::is_integral_v<A>)
        sum = static_cast<A>(reduction == Collective::AND ? sum & x : sum | x);
    }
  }
  return static_cast<T>(sum);
}

/// Element `at` of the reduction of all buffers, appended to `to`.
void appendReduced(std::vector<std::byte> &to, Collective::Reduction reduction, DType type,
                   const std::vector<std::vector<std::byte>> &buffers, uint64_t at) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values;
    for (const auto &buffer : buffers)
      values.push_back(reinterpret_cast<const T *>(buffer.data())[at]);
    T result = reduceByHand(reduction, values);
    const std::byte *bytes = reinterpret_cast<const std::byte *>(&result);
    to.insert(to.end(), bytes, bytes + sizeof(T));
  });
}

struct Case {
  Collective::Kind kind;
  Collective::Reduction reduction;
  DType type;
  uint64_t count;
  int64_t ranks;
  bool inPlace = false;
  /// The number of parts: part i has `count` + i elements and, for kinds with roots, the root i + 1 mod `ranks`.
  size_t parts = 1;
};

/// The expected result of member `me`, if it has one.
std::vector<std::byte> getExpected(const Case &c, uint64_t count, int64_t root,
                                   const std::vector<std::vector<std::byte>> &inputs, int64_t me) {
  std::vector<std::byte> expected;
  uint64_t bytes = count * getSize(c.type);
  switch (c.kind) {
  case Collective::ALL_REDUCE:
  case Collective::REDUCE:
    for (uint64_t i = 0; i != count; ++i)
      appendReduced(expected, c.reduction, c.type, inputs, i);
    break;
  case Collective::REDUCE_SCATTER:
    for (uint64_t i = 0; i != count; ++i)
      appendReduced(expected, c.reduction, c.type, inputs, me * count + i);
    break;
  case Collective::ALL_GATHER:
    for (const auto &input : inputs)
      expected.insert(expected.end(), input.begin(), input.end());
    break;
  case Collective::BROADCAST:
    expected = inputs[root];
    break;
  default:
    for (const auto &input : inputs)
      expected.insert(expected.end(), input.begin() + me * bytes, input.begin() + (me + 1) * bytes);
  }
  return expected;
}

/// One part on all ranks.
struct PartBuffers {
  uint64_t count;
  int64_t root;
  std::vector<std::vector<std::byte>> inputs, operands, results;

  PartBuffers(const Case &c, size_t index, Random &random)
      : count(c.count + index), root(static_cast<int64_t>(index + 1) % c.ranks) {
    for (int64_t rank = 0; rank != c.ranks; ++rank) {
      inputs.push_back(makeElements(random, c.type, count * (hasOperandPerMember(c.kind) ? c.ranks : 1)));
      results.emplace_back(count * (hasResultPerMember(c.kind) ? c.ranks : 1) * getSize(c.type));
    }
    operands = inputs;
  }

  CallPart getPart(const Case &c, int64_t rank) {
    bool hasIn = c.kind != Collective::BROADCAST || rank == root, hasOut = c.kind != Collective::REDUCE || rank == root;
    std::byte *in = hasIn ? operands[rank].data() : nullptr;
    std::byte *out = !hasOut ? nullptr : c.inPlace && hasIn ? in : results[rank].data();
    return {count, in, out, static_cast<uint32_t>(root)};
  }

  void check(const Case &c) const {
    for (int64_t rank = 0; rank != c.ranks; ++rank) {
      bool hasIn = c.kind != Collective::BROADCAST || rank == root;
      bool hasOut = c.kind != Collective::REDUCE || rank == root;
      bool inPlace = c.inPlace && hasIn && hasOut;
      const auto &found = inPlace ? operands[rank] : results[rank];
      if (hasOut)
        ASSERT_EQ(found, getExpected(c, count, root, inputs, rank)) << "rank " << rank;
      if (!inPlace)
        ASSERT_EQ(operands[rank], inputs[rank]) << "rank " << rank << " keeps its operand";
    }
  }
};

void check(const Case &c, Random &random) {
  SCOPED_TRACE(fmt::format("{} {} {} count {} ranks {} parts {}{}", runtime::getName(c.kind),
                           Collective::Reduction_Name(c.reduction), runtime::getName(c.type), c.count, c.ranks, c.parts,
                           c.inPlace ? " in place" : ""));
  auto backend = createInprocBackend(c.ranks);
  std::vector<PartBuffers> parts;
  for (size_t part = 0; part != c.parts; ++part)
    parts.emplace_back(c, part, random);
  for (int64_t rank = 0; rank != c.ranks; ++rank) {
    CollectiveCall call;
    call.kind = c.kind;
    call.reduction = c.reduction;
    call.type = c.type;
    for (PartBuffers &part : parts)
      call.parts.push_back(part.getPart(c, rank));
    for (int64_t member = 0; member != c.ranks; ++member)
      call.members.push_back(member);
    ASSERT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
  }
  ASSERT_TRUE(connectRanks(*backend, c.ranks));
  for (const Status &status :
       runRanks(*backend, c.ranks, [&](int64_t rank) { return backend->getCommunicator(rank).execute(0); }))
    ASSERT_TRUE(status.ok()) << status.message();
  for (const PartBuffers &part : parts)
    part.check(c);
}

} // namespace

TEST(Collectives, EveryReductionOfEveryType) {
  Random random;
  for (DType type : allTypes)
    for (Collective::Reduction reduction : allReductions) {
      if (!isReducible(reduction, type))
        continue;
      for (int64_t ranks : {1, 3, 4})
        for (uint64_t count : {0, 1, 37}) {
          if (ranks == 4 && count != 37)
            continue;
          check({Collective::REDUCE, reduction, type, count, ranks, false, 2}, random);
          check({Collective::ALL_REDUCE, reduction, type, count, ranks, false}, random);
          check({Collective::ALL_REDUCE, reduction, type, count, ranks, true}, random);
          check({Collective::REDUCE_SCATTER, reduction, type, count, ranks, false}, random);
        }
    }
}

TEST(Collectives, ReductionsThatAreNotDefined) {
  for (DType type : {F32, F64, BF16, F16}) {
    EXPECT_FALSE(isReducible(Collective::AND, type));
    EXPECT_FALSE(isReducible(Collective::OR, type));
  }
  EXPECT_FALSE(isReducible(Collective::SUM, I1));
  EXPECT_TRUE(isReducible(Collective::OR, I1));
}

TEST(Collectives, EveryMovementOfEveryType) {
  Random random;
  for (DType type : allTypes)
    for (Collective::Kind kind : {Collective::ALL_GATHER, Collective::ALL_TO_ALL, Collective::BROADCAST})
      for (int64_t ranks : {1, 3, 4})
        for (uint64_t count : {0, 1, 37})
          check({kind, Collective::SUM, type, count, ranks, false}, random);
}

TEST(Collectives, EverySizeAndNumberOfRanks) {
  Random random;
  for (Collective::Kind kind : allKinds)
    for (int64_t ranks : {1, 2, 3, 4, 8})
      for (uint64_t count : {0, 1, 2, 15, 16, 17, 1000, 65536}) {
        check({kind, Collective::SUM, F32, count, ranks, false}, random);
        check({kind, Collective::SUM, BF16, count, ranks, false}, random);
      }
}

TEST(Collectives, SeveralPartsAndInPlace) {
  Random random;
  for (Collective::Kind kind : allKinds)
    for (int64_t ranks : {1, 2, 3, 4, 5})
      for (size_t parts : {1, 2, 7}) {
        check({kind, Collective::SUM, F32, 100, ranks, false, parts}, random);
        check({kind, Collective::SUM, F16, 0, ranks, false, parts}, random);
        if (kind == Collective::ALL_REDUCE || hasRoot(kind))
          check({kind, Collective::SUM, F64, 33, ranks, true, parts}, random);
      }
}

TEST(Collectives, RootOfABroadcastMayHaveNoResult) {
  auto backend = createInprocBackend(2);
  float value = 3, result = 0;
  for (int64_t rank : {0, 1}) {
    CollectiveCall call;
    call.kind = Collective::BROADCAST;
    std::byte *in = rank == 1 ? reinterpret_cast<std::byte *>(&value) : nullptr;
    std::byte *out = rank == 0 ? reinterpret_cast<std::byte *>(&result) : nullptr;
    call.parts = {{1, in, out, 1}};
    call.members = {0, 1};
    ASSERT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
  }
  ASSERT_TRUE(connectRanks(*backend, 2));
  for (const Status &status :
       runRanks(*backend, 2, [&](int64_t rank) { return backend->getCommunicator(rank).execute(0); }))
    EXPECT_TRUE(status.ok());
  EXPECT_EQ(result, 3);
}

/// The result of both ranks of a group, of which one contributes `first` and the other `second`.
template <typename T> T reduceTwo(Collective::Reduction reduction, DType type, T first, T second) {
  auto backend = createInprocBackend(2);
  std::vector<T> values = {first, second}, results(2);
  for (int64_t rank = 0; rank != 2; ++rank) {
    CollectiveCall call;
    call.type = type;
    call.reduction = reduction;
    call.parts = {{1, reinterpret_cast<std::byte *>(&values[rank]), reinterpret_cast<std::byte *>(&results[rank])}};
    call.members = {0, 1};
    EXPECT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
  }
  EXPECT_TRUE(connectRanks(*backend, 2));
  runRanks(*backend, 2, [&](int64_t rank) { return backend->getCommunicator(rank).execute(0); });
  EXPECT_EQ(std::memcmp(&results[0], &results[1], sizeof(T)), 0);
  return results[0];
}

/// The signs of zeros: IEEE 754 has +0 as the larger one, and -0 as the sum of nothing but -0.
template <typename T> void checkZeros(DType type) {
  for (bool first : {false, true})
    for (bool second : {false, true}) {
      T a(first ? -0.0f : 0.0f), b(second ? -0.0f : 0.0f);
      auto isNegative = [&](Collective::Reduction reduction) {
        return std::signbit(static_cast<float>(reduceTwo(reduction, type, a, b)));
      };
      EXPECT_EQ(isNegative(Collective::SUM), first && second);
      EXPECT_EQ(isNegative(Collective::PRODUCT), first != second);
      EXPECT_EQ(isNegative(Collective::MAX), first && second);
      EXPECT_EQ(isNegative(Collective::MIN), first || second);
    }
}

TEST(Collectives, ZerosHaveSigns) {
  checkZeros<float>(F32);
  checkZeros<double>(F64);
  checkZeros<Float16>(F16);
  checkZeros<BFloat16>(BF16);
}

TEST(Collectives, MaximumKeepsWhatIsNoNumber) {
  for (Collective::Reduction reduction : {Collective::MAX, Collective::MIN})
    for (int64_t bad : {0, 1, 2}) {
      auto backend = createInprocBackend(3);
      std::vector<float> values = {1, 2, 3}, results(3);
      values[bad] = NAN;
      for (int64_t rank = 0; rank != 3; ++rank) {
        CollectiveCall call;
        call.reduction = reduction;
        call.parts = {{1, reinterpret_cast<std::byte *>(&values[rank]), reinterpret_cast<std::byte *>(&results[rank])}};
        call.members = {0, 1, 2};
        ASSERT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
      }
      ASSERT_TRUE(connectRanks(*backend, 3));
      runRanks(*backend, 3, [&](int64_t rank) { return backend->getCommunicator(rank).execute(0); });
      for (float result : results)
        EXPECT_TRUE(std::isnan(result));
    }
}

TEST(Collectives, OverlappingGroupsInManySteps) {
  // 32 ranks of a 4 x 8 mesh on few cores: rows, columns and all of them, alternating.
  constexpr int64_t rows = 4, columns = 8, ranks = rows * columns;
  auto backend = createInprocBackend(ranks);
  std::vector<double> values(ranks), sums(ranks * 3);
  for (int64_t rank = 0; rank != ranks; ++rank) {
    values[rank] = static_cast<double>(rank + 1);
    std::vector<std::vector<int64_t>> groups(3);
    for (int64_t other = 0; other != ranks; ++other) {
      if (other / columns == rank / columns)
        groups[0].push_back(other);
      if (other % columns == rank % columns)
        groups[1].push_back(other);
      groups[2].push_back(other);
    }
    for (size_t i = 0; i != 3; ++i) {
      CollectiveCall call;
      call.type = F64;
      call.parts = {{1, reinterpret_cast<std::byte *>(i == 0 ? &values[rank] : &sums[rank * 3 + i - 1]),
                     reinterpret_cast<std::byte *>(&sums[rank * 3 + i])}};
      call.members = groups[i];
      ASSERT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
    }
  }
  ASSERT_TRUE(connectRanks(*backend, ranks));
  for (int step = 0; step != 20; ++step) {
    for (const Status &status : runRanks(*backend, ranks, [&](int64_t rank) -> Status {
           for (uint32_t i = 0; i != 3; ++i)
             MW_TRY(backend->getCommunicator(rank).execute(i));
           return {};
         }))
      ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t rank = 0; rank != ranks; ++rank) {
      double row = rank / columns;
      EXPECT_EQ(sums[rank * 3], columns * (row * columns) + columns * (columns + 1) / 2.0);
      EXPECT_EQ(sums[rank * 3 + 1], ranks * (ranks + 1) / 2.0);
      EXPECT_EQ(sums[rank * 3 + 2], ranks * ranks * (ranks + 1) / 2.0);
    }
  }
}

namespace {

/// Two ranks and their all-reduces of one float, described by tag and count.
struct TwoRanks {
  std::unique_ptr<Backend> backend = createInprocBackend(2);
  float buffers[2][4] = {};

  void prepare(int64_t rank, uint32_t tag, uint64_t count) {
    CollectiveCall call;
    std::byte *buffer = reinterpret_cast<std::byte *>(buffers[rank]);
    call.parts = {{count, buffer, buffer}};
    call.members = {0, 1};
    call.tag = tag;
    call.name = "grad/w";
    call.location = "model.mlir:88";
    (void)backend->getCommunicator(rank).prepare(std::move(call));
  }
};

TEST(CollectiveBytes, AreThoseOfRings) {
  // With B the full value and b the local one: 2B(n-1)/n, B(n-1)/n, b(n-1)/n; here 4 members and parts of 12 bytes. The
  // root of a send sends all of it.
  const std::pair<Collective::Kind, double> expected[] = {{Collective::ALL_REDUCE, 2 * 12 * 3 / 4.0},
                                                          {Collective::ALL_GATHER, 48 * 3 / 4.0},
                                                          {Collective::REDUCE_SCATTER, 48 * 3 / 4.0},
                                                          {Collective::ALL_TO_ALL, 48 * 3 / 4.0},
                                                          {Collective::BROADCAST, 12 * 3 / 4.0},
                                                          {Collective::REDUCE, 12 * 3 / 4.0},
                                                          {Collective::SEND, 12}};
  EXPECT_EQ(std::size(expected), Collective::Kind_ARRAYSIZE);
  for (auto [kind, bytes] : expected) {
    EXPECT_EQ(getSentBytes(kind, 4, 12), bytes) << getName(kind);
    if (kind != Collective::SEND)
      EXPECT_EQ(getSentBytes(kind, 1, 12), 0) << getName(kind);
  }
}

} // namespace

TEST(Collectives, DisagreementIsAnErrorOnAllRanks) {
  TwoRanks ranks;
  ranks.prepare(0, 7, 2);
  ranks.prepare(1, 8, 3);
  ASSERT_TRUE(connectRanks(*ranks.backend, 2));
  for (const Status &status :
       runRanks(*ranks.backend, 2, [&](int64_t rank) { return ranks.backend->getCommunicator(rank).execute(0); })) {
    EXPECT_EQ(status.code(), Code::Fault);
    EXPECT_EQ(status.message(), "rank 0: c_allreduce #7 (grad/w, model.mlir:88) of 2 f32 meets rank 1: c_allreduce #8 "
                                "(grad/w, model.mlir:88) of 3 f32");
  }
}

TEST(Collectives, RankThatDoesNotComeIsNamed) {
  TwoRanks ranks;
  ranks.prepare(0, 7, 2);
  ranks.prepare(1, 7, 2);
  ASSERT_TRUE(connectRanks(*ranks.backend, 2));
  std::vector<Status> results = runRanks(*ranks.backend, 2, [&](int64_t rank) {
    return rank == 0 ? ranks.backend->getCommunicator(rank).execute(0) : Status();
  });
  EXPECT_EQ(results[0].message(),
            "rank 0: c_allreduce #7 (grad/w, model.mlir:88) waits for rank 1, which is not coming: "
            "every rank waits or has finished");
  EXPECT_TRUE(results[1].ok());
}

TEST(Collectives, ErrorOnOneRankReleasesTheOthers) {
  TwoRanks ranks;
  ranks.prepare(0, 7, 2);
  ranks.prepare(1, 7, 2);
  ASSERT_TRUE(connectRanks(*ranks.backend, 2));
  std::vector<Status> results = runRanks(*ranks.backend, 2, [&](int64_t rank) {
    return rank == 0 ? ranks.backend->getCommunicator(rank).execute(0) : faultError("rank 1: a kernel failed");
  });
  EXPECT_EQ(results[0].message(), "rank 1: a kernel failed");
}

TEST(Collectives, GroupsThatNotAllMembersKnowAreErrors) {
  TwoRanks ranks;
  ranks.prepare(0, 7, 2);
  std::vector<Status> results =
      runRanks(*ranks.backend, 2, [&](int64_t rank) { return ranks.backend->getCommunicator(rank).connect(); });
  EXPECT_EQ(results[0].message(), "rank 0: c_allreduce #0 (the first meeting of its group) waits for rank 1, which is "
                                  "not coming: every rank waits or has finished");
}
