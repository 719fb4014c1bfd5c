//===- CudaReadingsTest.cpp - scalars read after every step ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalars of a step are read while the device is at the next one, and are those of the step.
//
//===----------------------------------------------------------------------===//

#include "StubPackages.h"
#include "StubRun.h"
#include "meshwright/runtime/SchemaVersion.h"
#include "test/unit/Runtime/ProgramBuilder.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

class CudaReadings : public testing::TestWithParam<NamedPackage> {
protected:
  void SetUp() override { open(GetParam().make()); }

  void open(const Package &message) {
    ASSERT_TRUE(writePackage(message, folder / "p"));
    package.emplace(std::move(*LoadedPackage::open(folder / "p")));
  }

  std::unique_ptr<Session> start(const SessionOptions &options) {
    auto session = Session::create(*package, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    Status prepared = (*session)->prepareReadings(listValues(*package));
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    fillWithNumbers(**session, 4);
    return std::move(*session);
  }

  Stub stub;
  TempFolder folder;
  std::optional<LoadedPackage> package;
};

StepReading read(Session &session) {
  auto reading = session.readStep();
  EXPECT_TRUE(reading.ok()) << reading.status().message();
  return *reading;
}

size_t count(const Trace &trace, const std::string &function) {
  size_t calls = 0;
  for (const RecordedCall &call : trace)
    calls += call.function == function;
  return calls;
}

} // namespace

TEST_P(CudaReadings, AreThoseOfTheStep) {
  for (StubMode mode : {StubMode::Issued, StubMode::Recorded, StubMode::OneGpu}) {
    SCOPED_TRACE(getName(mode));
    std::unique_ptr<Session> session = start(makeStubOptions(mode));
    EXPECT_TRUE(session->runsAhead());
    std::vector<StepReading> wanted, readings;
    std::unique_ptr<Session> onCpu = start({});
    EXPECT_FALSE(onCpu->runsAhead());
    for (int step = 0; step != 7; ++step) {
      ASSERT_TRUE(onCpu->step().ok());
      wanted.push_back(read(*onCpu));
      ASSERT_TRUE(session->step().ok());
      // A step late.
      if (step != 0)
        readings.push_back(read(*session));
      EXPECT_EQ(session->getNumUnread(), 1u);
    }
    readings.push_back(read(*session));
    for (size_t step = 0; step != wanted.size(); ++step) {
      SCOPED_TRACE(step);
      EXPECT_EQ(readings[step].scalars, wanted[step].scalars);
      EXPECT_EQ(readings[step].position, step % package->getAccumulationSteps());
      EXPECT_EQ(readings[step].isUpdate, wanted[step].isUpdate);
      EXPECT_GT(readings[step].costs.seconds, 0);
      EXPECT_EQ(readings[step].costs.libraryAllocations, 0u);
      // Filling the variables may have waited.
      if (step != 0)
        EXPECT_EQ(readings[step].costs.hostSyncs, 0u);
    }
  }
}

TEST_P(CudaReadings, LetTheDeviceGoOn) {
  std::unique_ptr<Session> session = start(makeStubOptions(StubMode::Recorded));
  for (uint32_t step = 0; step != package->getAccumulationSteps() + 1; ++step)
    ASSERT_TRUE(session->step().ok());
  read(*session);
  stub.record();
  ASSERT_TRUE(session->step().ok());
  const Trace issued = stub.getTrace();
  // The events at the end of this step.
  std::set<uint64_t> ends;
  for (const RecordedCall &call : issued)
    if (call.function == "cuEventRecord")
      ends.insert(call.get("event"));
  stub.record();
  read(*session);
  const Trace trace = stub.getTrace();
  for (const Trace *part : {&issued, &trace})
    for (const char *wait : {"cuStreamQuery", "cuStreamSynchronize", "cuEventSynchronize"})
      EXPECT_EQ(count(*part, wait), 0u) << wait;
  // It looks at the step before alone.
  EXPECT_GE(count(trace, "cuEventQuery"), static_cast<size_t>(session->getNumRanks()));
  for (const RecordedCall &call : trace)
    if (call.function == "cuEventQuery")
      EXPECT_FALSE(ends.contains(call.get("event")));
}

INSTANTIATE_TEST_SUITE_P(Packages, CudaReadings, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });

/// A host that does not read keeps the readings of the last two steps.
TEST(CudaReadingsOfMany, ForgetTheOldest) {
  Stub stub;
  TempFolder folder;
  ASSERT_TRUE(writePackage(makeAccumulationPackage({2, 2, 3, 2}), folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  auto session = std::move(*Session::create(package, makeStubOptions(StubMode::Issued)));
  ASSERT_TRUE(session->prepareReadings(listValues(package)).ok());
  fillWithNumbers(*session, 5);
  for (int step = 0; step != 5; ++step)
    ASSERT_TRUE(session->step().ok());
  EXPECT_EQ(session->getNumUnread(), 2u);
  EXPECT_EQ(read(*session).position, 0u);
  StepReading last = read(*session);
  EXPECT_EQ(last.position, 1u);
  EXPECT_FALSE(last.isUpdate);
  EXPECT_EQ(session->getNumUnread(), 0u);
}

/// A program without tasks whose input has so many elements.
static Package makeFedPackage(int64_t elements) {
  Package package;
  package.set_version(runtime::schemaVersion);
  package.set_accumulation_steps(1);
  describe(package.add_inputs(), "x", {elements});
  Port *y = package.add_outputs();
  describe(y, "y", {elements});
  y->set_result(true);
  package.add_program_of_rank(0);
  Program &program = *package.add_programs();
  ProgramBuilder builder(program);
  builder.addTask("step");
  uint32_t x = builder.addBuffer("x", {elements});
  builder.endPersistent();
  uint32_t result = builder.addBuffer("y", {elements});
  Copy *copy = builder.add("y")->mutable_copy();
  copy->set_from(x);
  copy->set_to(result);
  program.add_schedule()->set_end_step(1);
  program.add_input_buffers(static_cast<int32_t>(x));
  program.add_output_buffers(static_cast<int32_t>(result));
  addLibraries(package);
  return package;
}

/// Inputs of a step wait in pinned memory until the device reaches the step, while the host continues; the inputs that
/// the host feeds next do not overwrite them.
TEST(CudaFeeds, WaitForNothing) {
  // Beyond what the ring has for smaller ones, and no divisor of it.
  constexpr int64_t elements = 1'300'017;
  Stub stub;
  TempFolder folder;
  ASSERT_TRUE(writePackage(makeFedPackage(elements), folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  auto session = std::move(*Session::create(package, makeStubOptions(StubMode::Recorded)));
  ASSERT_TRUE(session->prepareReadings(listValues(package)).ok());
  std::vector<float> values(elements), result(elements);
  for (int step = 0; step != 9; ++step) {
    for (int64_t i = 0; i != elements; ++i)
      values[i] = static_cast<float>(i % 1021 + step);
    session->scatter(session->getInputs(), 0, std::as_bytes(std::span(values)));
    stub.record();
    ASSERT_TRUE(session->step().ok());
    if (step != 0)
      EXPECT_EQ(read(*session).costs.hostSyncs, 0u);
    Trace trace = stub.getTrace();
    EXPECT_EQ(count(trace, "cuStreamQuery") + count(trace, "cuStreamSynchronize"), 0u);
    EXPECT_GE(count(trace, "cuMemcpyHtoDAsync"), 1u);
  }
  ASSERT_TRUE(session->gather(session->getOutputs(), 0, std::as_writable_bytes(std::span(result))).ok());
  EXPECT_EQ(result, values);
}
