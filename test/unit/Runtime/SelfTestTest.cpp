//===- SelfTestTest.cpp - that the conformance suite can fail -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suite passes on the backend of threads, and finds every defect that a backend is given.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SelfTest.h"
#include "meshwright/runtime/Decorator.h"
#include "meshwright/runtime/Inproc.h"
#include "runtime/selftest/SelfTestData.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

enum class Defect {
  None,
  LastElement,  ///< the last bit of results of more than 1000 elements is wrong on rank 1
  SecondPart,   ///< the second part of a launch is not moved
  OrderOfSum,   ///< members are added in descending order
  Operand,      ///< the first element of an operand becomes zero
  BehindResult, ///< a byte more than the result is written
  TooEarly,     ///< wait returns although nothing was done
  OtherRoot,    ///< the second part comes from the root of the first
  Bytewise,     ///< sums of i16 are made by byte, without the carry
};

class DefectiveCommunicator : public CommunicatorDecorator {
public:
  DefectiveCommunicator(Communicator &inner, Defect defect, int64_t rank)
      : CommunicatorDecorator(inner), defect(defect), rank(rank) {}

  Result<uint32_t> prepare(CollectiveCall call) override {
    calls.push_back(call);
    if (defect == Defect::SecondPart && call.parts.size() > 1)
      call.parts.erase(call.parts.begin() + 1);
    if (defect == Defect::OrderOfSum && call.kind == Collective::ALL_REDUCE)
      std::sort(call.members.rbegin(), call.members.rend());
    if (defect == Defect::OtherRoot && call.kind == Collective::BROADCAST && call.parts.size() > 1) {
      CallPart &part = call.parts[1];
      part.root = call.parts[0].root;
      part.in = part.in ? part.in : part.out;
    }
    if (defect == Defect::Bytewise && call.type == I16 && call.reduction == Collective::SUM && isReducing(call.kind)) {
      call.type = U8;
      for (CallPart &part : call.parts)
        part.count *= 2;
    }
    return inner.prepare(std::move(call));
  }
  Status execute(uint32_t number) override {
    MW_TRY(inner.execute(number));
    spoil(calls[number]);
    return {};
  }
  Status start(uint32_t number) override { return defect == Defect::TooEarly ? Status() : inner.start(number); }
  Status wait(uint32_t number) override { return defect == Defect::TooEarly ? Status() : inner.wait(number); }

private:
  void spoil(const CollectiveCall &call) const {
    for (const CallPart &part : call.parts) {
      uint64_t bytes = part.count * getSize(call.type) * (hasResultPerMember(call.kind) ? call.members.size() : 1);
      if (defect == Defect::LastElement && rank == 1 && part.out && part.count > 1000)
        part.out[bytes - 1] ^= std::byte{1};
      if (defect == Defect::BehindResult && part.out)
        part.out[bytes] = std::byte{7};
      if (defect == Defect::Operand && part.in && part.in != part.out && part.count != 0)
        std::memset(const_cast<std::byte *>(part.in), 0, getSize(call.type));
    }
  }

  Defect defect;
  int64_t rank;
  std::vector<CollectiveCall> calls;
};

Result<SelfTestReport> runWith(Defect defect, int64_t numRanks) {
  std::unique_ptr<World> local = createLocalWorld();
  WorldDecorator world(
      *local, [&](std::unique_ptr<Backend> backend, const BackendOptions &) -> Result<std::unique_ptr<Backend>> {
        return std::unique_ptr<Backend>(
            std::make_unique<BackendDecorator>(std::move(backend), [&](Communicator &inner, int64_t rank) {
              return std::make_unique<DefectiveCommunicator>(inner, defect, rank);
            }));
      });
  SelfTestOptions options;
  options.numRanks = numRanks;
  options.isTimed = false;
  return runSelfTest(world, options);
}

void expectFound(Defect defect, const std::string &what) {
  auto report = runWith(defect, 3);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->verdict.code(), Code::CheckFailed) << "was not found";
  EXPECT_GT(report->wrong, 0u);
  EXPECT_NE(report->verdict.message().find(what), std::string::npos) << report->verdict.message();
}

} // namespace

TEST(SelfTest, ThreadsDoWhatTheyPromise) {
  for (int64_t ranks : {1, 2, 3, 4}) {
    auto report = runWith(Defect::None, ranks);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->verdict.ok()) << report->verdict.message();
    EXPECT_EQ(report->wrong, 0u);
    EXPECT_GT(report->cases, 1000u);
  }
}

TEST(SelfTest, FindsAWrongElement) { expectFound(Defect::LastElement, ": rank 1: element "); }
TEST(SelfTest, FindsAPartThatIsNotMoved) { expectFound(Defect::SecondPart, " of part 1 is "); }
TEST(SelfTest, FindsAnotherOrderOfASum) { expectFound(Defect::OrderOfSum, "c_allreduce sum of "); }
TEST(SelfTest, FindsAnOperandThatWasChanged) {
  expectFound(Defect::Operand, "element 0 of the operand of part 0 was changed");
}
TEST(SelfTest, FindsWhatIsWrittenBehindAResult) {
  expectFound(Defect::BehindResult, "byte 0 after the result of part 0 was changed");
}
TEST(SelfTest, FindsAWaitThatReturnsTooEarly) { expectFound(Defect::TooEarly, ", started"); }
TEST(SelfTest, FindsAnotherRoot) { expectFound(Defect::OtherRoot, "c_broadcast of "); }
TEST(SelfTest, FindsSumsWithoutCarry) { expectFound(Defect::Bytewise, " i16"); }

TEST(SelfTest, ExpectsWhatIsRightByHand) {
  // Three numbers of which the order of the sum shows in f32, and one rounding or two in bf16.
  std::vector<int64_t> members = {0, 1, 2};
  for (DType type : {F32, BF16}) {
    SelfTestCase test;
    test.type = type;
    std::vector<std::byte> found(PeriodicValues::period * getSize(type)), operands[3];
    for (int64_t rank = 0; rank != 3; ++rank) {
      operands[rank].resize(found.size());
      makeOperand(test, 0, rank, PeriodicValues::period).write(0, operands[rank]);
    }
    auto load = [&](int64_t rank, uint64_t i) {
      return static_cast<float>(loadAsDouble(type, operands[rank].data() + i * getSize(type)));
    };
    auto countWrong = [&](auto add) {
      for (uint64_t i = 0; i != PeriodicValues::period; ++i) {
        float sum = add(load(0, i), load(1, i), load(2, i));
        BFloat16 rounded(sum);
        std::memcpy(found.data() + i * getSize(type), type == F32 ? static_cast<void *>(&sum) : &rounded,
                    getSize(type));
      }
      uint64_t first = 0;
      return makeReduced(test, 0, members, PeriodicValues::period).countWrong(0, found, first);
    };
    EXPECT_EQ(countWrong([](float a, float b, float c) { return (a + b) + c; }), 0u);
    if (type == F32)
      EXPECT_GT(countWrong([](float a, float b, float c) { return a + (b + c); }), 100u);
    else
      EXPECT_GT(countWrong([](float a, float b, float c) { return static_cast<float>(BFloat16(a + b)) + c; }), 100u);
  }
}

TEST(SelfTest, BusBandwidthIsWhatALinkCarries) {
  // 8 MB in 1 ms between 4 ranks. A ring sends 2 x 3/4 of it over each link for an all-reduce, 3/4 for an all-gather.
  SelfTestTiming timing{Collective::ALL_REDUCE, 8000000, 2000000, 1e-3, 0};
  EXPECT_DOUBLE_EQ(timing.getAlgorithmBandwidth(), 8e9);
  EXPECT_DOUBLE_EQ(timing.getBusBandwidth(4), 12e9);
  timing.kind = Collective::ALL_GATHER;
  EXPECT_DOUBLE_EQ(timing.getBusBandwidth(4), 6e9);
  timing.kind = Collective::BROADCAST;
  EXPECT_DOUBLE_EQ(timing.getBusBandwidth(4), 8e9);
}
