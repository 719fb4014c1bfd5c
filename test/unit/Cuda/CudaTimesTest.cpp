//===- CudaTimesTest.cpp - steps on GPUs that are traced ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A traced step says of everything that the schedule has when the device was at it, and time has the order of the
// events: what waits for something ends when that has ended.
//
//===----------------------------------------------------------------------===//

#include "StubPackages.h"
#include "StubRun.h"
#include "meshwright/runtime/StepTrace.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

class CudaTimes : public testing::TestWithParam<NamedPackage> {
protected:
  void SetUp() override {
    ASSERT_TRUE(writePackage(GetParam().make(), folder / "p"));
    package.emplace(std::move(*LoadedPackage::open(folder / "p")));
  }

  std::unique_ptr<Session> start(const SessionOptions &options) {
    auto session = std::move(*Session::create(*package, options));
    fillWithNumbers(*session, 6);
    return session;
  }

  Stub stub;
  TempFolder folder;
  std::optional<LoadedPackage> package;
};

/// The number of instructions of each kind in a step of the schedule.
std::map<StepSpan::Kind, size_t> countSpans(const LoadedPackage &package, uint32_t position) {
  std::map<StepSpan::Kind, size_t> counts;
  for (int64_t rank = 0; rank != package.getMesh().getNumRanks(); ++rank) {
    const Program &program =
        package.message().programs(static_cast<int>(package.message().program_of_rank(static_cast<int>(rank))));
    auto isHost = [&](uint32_t buffer) { return program.buffers(static_cast<int>(buffer)).memory() == HOST; };
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &) {
      if (instruction.has_kernel() || instruction.has_matmul())
        ++counts[StepSpan::Compute];
      else if (instruction.has_wait() || instruction.has_copy_wait())
        ++counts[StepSpan::Wait];
      else if (instruction.has_collective()) {
        ++counts[StepSpan::Collective];
        counts[StepSpan::Wait] += !instruction.collective().start();
      } else if (instruction.has_copy() && isHost(instruction.copy().from()) != isHost(instruction.copy().to())) {
        ++counts[isHost(instruction.copy().to()) ? StepSpan::WriteBack : StepSpan::Fetch];
        counts[StepSpan::Wait] += !instruction.copy().start();
      } else if (instruction.has_copy()) {
        ++counts[StepSpan::Compute];
      }
    });
  }
  return counts;
}

/// A span's row: one thing at a time is in it.
int getRow(const StepSpan &span) {
  return span.kind == StepSpan::Wait ? StepSpan::Compute : static_cast<int>(span.kind);
}

} // namespace

TEST_P(CudaTimes, AreThoseOfTheSchedule) {
  std::unique_ptr<Session> session = start(makeStubOptions(StubMode::Recorded));
  for (uint32_t step = 0; step != 2 * package->getAccumulationSteps(); ++step) {
    SCOPED_TRACE(step);
    uint32_t position = session->getAccumulationPosition();
    auto trace = traceStep(*session);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    std::map<StepSpan::Kind, size_t> counts;
    std::map<std::pair<int64_t, int>, std::vector<const StepSpan *>> rows;
    for (const StepSpan &span : trace->spans) {
      ++counts[span.kind];
      EXPECT_LE(span.begin, span.end);
      EXPECT_GE(span.begin, 0);
      EXPECT_LE(span.end, trace->seconds);
      rows[{span.rank, getRow(span)}].push_back(&span);
    }
    EXPECT_EQ(counts, countSpans(*package, position));
    // The clock of events is a microsecond or so.
    constexpr double slack = 2e-6;
    for (const auto &[row, spans] : rows)
      for (size_t i = 1; i != spans.size(); ++i)
        EXPECT_LE(spans[i - 1]->end, spans[i]->begin + slack) << "rank " << row.first << ", row " << row.second;
    // A synchronous collective completes before its wait does.
    for (const StepSpan &span : trace->spans)
      if (span.kind == StepSpan::Collective && !span.instruction->collective().start()) {
        auto wait = std::find_if(trace->spans.begin(), trace->spans.end(), [&](const StepSpan &other) {
          return other.kind == StepSpan::Wait && other.rank == span.rank && other.instruction == span.instruction &&
                 other.microBatch == span.microBatch;
        });
        ASSERT_NE(wait, trace->spans.end());
        EXPECT_LE(wait->begin, span.begin + slack);
        EXPECT_GE(wait->end, span.end - slack);
      }
  }
}

/// Tracing changes nothing, and steps after it are replayed again.
TEST_P(CudaTimes, DisturbNothing) {
  for (StubMode mode : {StubMode::Recorded, StubMode::OneGpu}) {
    SCOPED_TRACE(getName(mode));
    std::unique_ptr<Session> traced = start(makeStubOptions(mode)), plain = start({});
    for (int step = 0; step != 7; ++step) {
      ASSERT_TRUE(plain->step().ok());
      if (step % 3 == 1)
        ASSERT_TRUE(traceStep(*traced).ok());
      else
        ASSERT_TRUE(traced->step().ok());
      EXPECT_EQ(readEverything(*traced), readEverything(*plain));
    }
  }
  EXPECT_EQ(stub.countLive(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Packages, CudaTimes, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });
