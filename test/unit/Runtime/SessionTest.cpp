//===- SessionTest.cpp - a package while it runs --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The package made by hand, against the same step in plain loops.
//
//===----------------------------------------------------------------------===//

#include "ReadScalar.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/SerialCheck.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr int64_t rows = 8, depth = 4, columns = 8;

/// A package on disk, with a feed of small numbers.
struct Fixture {
  TempFolder folder;
  std::optional<LoadedPackage> package;
  Tensor x{F32, {rows, depth}}, w{F32, {depth, columns}};

  explicit Fixture(
      Fault fault = Fault::None, const std::function<void(Package &)> &change = [](Package &) {},
      Style style = Style::Plain) {
    Package message = makePackage(fault, style);
    change(message);
    EXPECT_TRUE(writePackage(message, folder / "p"));
    auto opened = LoadedPackage::open(folder / "p");
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    package.emplace(std::move(*opened));
    for (int i = 0; i != rows * depth; ++i)
      x.as<float>()[i] = static_cast<float>(i % 7) - 3;
    for (int i = 0; i != depth * columns; ++i)
      w.as<float>()[i] = static_cast<float>(i % 5) / 4;
    write("x", {{"x", x}});
    write("w", {{"w", w}});
  }

  void write(const std::string &name, const std::map<std::string, Tensor> &tensors) {
    std::vector<SafeTensorsEntry> entries;
    for (const auto &[key, tensor] : tensors)
      entries.push_back({key, tensor.type, tensor.shape});
    auto writer = SafeTensorsWriter::create(folder / name, entries);
    ASSERT_TRUE(writer.ok());
    for (const auto &[key, tensor] : tensors)
      ASSERT_TRUE(writer->append(tensor.bytes).ok());
    ASSERT_TRUE(writer->commit().ok());
  }

  std::unique_ptr<Session> start(bool serial = false) {
    SessionOptions options;
    options.serial = serial;
    auto session = Session::create(*package, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    return std::move(*session);
  }

  std::vector<float> get(const Session &session, const ValueSet &set, const std::string &name) {
    size_t i = *set.find(name);
    std::vector<float> values(set.getBytes(i) / 4);
    EXPECT_TRUE(session.gather(set, i, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }
};

/// The step in plain loops: the loss, and w after it.
float stepByHand(const Tensor &xTensor, std::vector<float> &w) {
  Tensor copy = xTensor;
  auto x = copy.as<float>();
  float loss = 0;
  for (int i = 0; i != rows; ++i)
    for (int j = 0; j != columns; ++j)
      for (int k = 0; k != depth; ++k)
        loss += x[i * depth + k] * w[k * columns + j];
  for (int k = 0; k != depth; ++k)
    for (int j = 0; j != columns; ++j) {
      float gradient = 0;
      for (int i = 0; i != rows; ++i)
        gradient += x[i * depth + k];
      w[k * columns + j] -= gradient / 8;
    }
  return loss;
}

} // namespace

/// Three steps from a file's values on, against plain loops.
static void checkSteps(Style style, bool serial) {
  SCOPED_TRACE(serial ? "serial" : fmt::format("style {}", static_cast<int>(style)));
  Fixture fixture(Fault::None, [](Package &) {}, style);
  auto file = SafeTensors::open(fixture.folder / "w");
  auto session = fixture.start(serial);
  EXPECT_EQ(session->getNumRanks(), serial ? 1 : 4);
  ASSERT_TRUE(session->initialize(&*file, 0).ok());
  std::vector<float> w(fixture.w.as<float>().begin(), fixture.w.as<float>().end());
  EXPECT_EQ(fixture.get(*session, session->getVariables(), "w"), w);
  auto feeder = Feeder::create(session->getPackage(), fixture.folder / "x", {});
  ASSERT_TRUE(feeder.ok()) << feeder.status().message();
  for (int step = 0; step != 3; ++step) {
    ASSERT_TRUE(feeder->load(step).ok());
    feeder->scatter(*session);
    Status status = session->step();
    ASSERT_TRUE(status.ok()) << status.message();
    float loss = stepByHand(fixture.x, w);
    // Multiples of 1/32 below 2^16: every order of the sums gives the same.
    EXPECT_EQ(fixture.get(*session, session->getVariables(), "w"), w);
    EXPECT_EQ(fixture.get(*session, session->getOutputs(), "loss"), std::vector<float>{loss});
    EXPECT_EQ(readScalar(*session, "loss"), loss);
  }
}

TEST(Session, StepIsWhatPlainLoopsCompute) {
  checkSteps(Style::Plain, true);
  for (Style style : {Style::Plain, Style::Overlapped, Style::Owned})
    checkSteps(style, false);
}

TEST(Session, InitialValuesAreTheSameOnEveryMesh) {
  Fixture fixture;
  auto distributed = fixture.start(), serial = fixture.start(true);
  for (uint64_t seed : {0, 1}) {
    ASSERT_TRUE(distributed->initialize(nullptr, seed).ok());
    ASSERT_TRUE(serial->initialize(nullptr, seed).ok());
    EXPECT_EQ(fixture.get(*distributed, distributed->getVariables(), "w"),
              fixture.get(*serial, serial->getVariables(), "w"));
  }
}

TEST(Session, WrongInitialFilesAreErrors) {
  Fixture fixture(Fault::None, [](Package &p) { p.mutable_variables(0)->clear_init(); });
  auto session = fixture.start();
  auto getError = [&](const std::map<std::string, Tensor> &tensors) {
    fixture.write("bad", tensors);
    auto file = SafeTensors::open(fixture.folder / "bad");
    return session->initialize(&*file, 0).status().message();
  };
  std::string path = fixture.folder / "bad";
  EXPECT_EQ(getError({{"w", Tensor(F32, {8, 4})}}), path + ": tensor \"w\" is 8x4xf32 but the variable is 4x8xf32");
  EXPECT_EQ(getError({{"w", Tensor(F64, {4, 8})}}), path + ": tensor \"w\" is 4x8xf64 but the variable is 4x8xf32");
  EXPECT_EQ(getError({{"v", Tensor(F32, {4, 8})}}), "variable \"w\" of 4x8xf32 has no initial value: it is not in " +
                                                        path + ", and no init rule of the strategy matches it");
  EXPECT_EQ(
      session->initialize(nullptr, 0).status().message(),
      "variable \"w\" of 4x8xf32 has no initial value: no file is given (--init), and no init rule of the strategy "
      "matches it");
}

TEST(Session, SerialProgramMayBeMissing) {
  Fixture fixture(Fault::None, [](Package &p) { p.clear_serial(); });
  SessionOptions options;
  options.serial = true;
  EXPECT_EQ(Session::create(*fixture.package, options).status().message(),
            "the package was made without its serial program");
}

TEST(Feeder, WrongFeedsAreErrors) {
  Fixture fixture;
  auto session = fixture.start();
  auto getError = [&](const std::map<std::string, Tensor> &tensors) {
    fixture.write("bad", tensors);
    auto feeder = Feeder::create(session->getPackage(), fixture.folder / "bad", {});
    EXPECT_TRUE(feeder.ok());
    return feeder->load(0).message();
  };
  std::string path = fixture.folder / "bad";
  EXPECT_EQ(getError({{"y", fixture.x}}), path + ": none of the 1 tensors is called \"x\", like the input of 8x4xf32");
  EXPECT_EQ(getError({{"x", fixture.w}}), path + ": input \"x\" is 8x4xf32 but the tensor is 4x8xf32");
  EXPECT_EQ(getError({{"x", Tensor(F64, {8, 4})}}), path + ": input \"x\": f32 is wanted, but the data is f64");
  fixture.x.as<float>()[14] = 100;
  EXPECT_EQ(getError({{"x", fixture.x}}), path + ": input \"x\": element [3, 2] is 100, outside [-100, 100)");
  fixture.x.as<float>()[14] = NAN;
  EXPECT_EQ(getError({{"x", fixture.x}}), path + ": input \"x\": element [3, 2] is nan, outside [-100, 100)");
  EXPECT_EQ(Feeder::create(session->getPackage(), "", {}).status().message(),
            "the input \"x\" of 8x4xf32 has neither a feed nor data");
  EXPECT_EQ(Feeder::create(session->getPackage(), "", {{"z", "f", U8}}).status().message(),
            "no input of the package is called \"z\"");
}

TEST(Feeder, FilesMayDifferFromStepToStep) {
  Fixture fixture;
  auto session = fixture.start();
  for (int step : {0, 1}) {
    fixture.x.as<float>()[0] = static_cast<float>(step + 10);
    fixture.write("batch" + std::to_string(step), {{"x", fixture.x}});
  }
  auto feeder = Feeder::create(session->getPackage(), fixture.folder / "batch{step}", {});
  ASSERT_TRUE(feeder.ok());
  for (int step : {0, 1}) {
    ASSERT_TRUE(feeder->load(step).ok());
    feeder->scatter(*session);
    EXPECT_EQ(fixture.get(*session, session->getInputs(), "x")[0], static_cast<float>(step + 10));
  }
  EXPECT_EQ(feeder->load(2).message(), "cannot open " + (fixture.folder / "batch2") + ": No such file or directory");
}

TEST(Feeder, DataIsCutIntoWindows) {
  // 11 windows of 4 and a rest of 2: a batch takes 8, the second one begins with the last 3 and then the first 5.
  Fixture fixture;
  auto session = fixture.start();
  Tensor data(F32, {46});
  for (int i = 0; i != 46; ++i)
    data.as<float>()[i] = static_cast<float>(i);
  fixture.folder.write("raw", std::string(reinterpret_cast<const char *>(data.bytes.data()), data.bytes.size()));
  fixture.write("data.safetensors", {{"anything", data}});
  for (DataSource source : {DataSource{"x", fixture.folder / "raw", F32},
                            DataSource{"x", fixture.folder / "data.safetensors", std::nullopt}}) {
    auto feeder = Feeder::create(session->getPackage(), "", {source});
    ASSERT_TRUE(feeder.ok()) << feeder.status().message();
    for (int step : {0, 1, 2}) {
      ASSERT_TRUE(feeder->load(step).ok());
      feeder->scatter(*session);
      std::vector<float> x = fixture.get(*session, session->getInputs(), "x");
      for (int row = 0; row != rows; ++row)
        for (int i = 0; i != depth; ++i)
          EXPECT_EQ(x[row * depth + i], static_cast<float>((step * rows + row) % 11 * depth + i));
    }
  }
  EXPECT_EQ(Feeder::create(session->getPackage(), "", {{"x", "", std::nullopt, 7}}).status().message(),
            "the input \"x\" of 8x4xf32 is no key: step:SEED makes 2xu32 or 4xu32");
  fixture.folder.write("short", std::string(4 * 31, '\0'));
  EXPECT_EQ(Feeder::create(session->getPackage(), "", {{"x", fixture.folder / "short", F32}}).status().message(),
            fixture.folder / "short" + ": 31 elements are fewer than the 32 of one batch of input \"x\" (8x4)");
  EXPECT_EQ(Feeder::create(session->getPackage(), "", {{"x", fixture.folder / "short", std::nullopt}}).status().code(),
            Code::Usage);
}

TEST(DataSource, IsParsed) {
  auto source = DataSource::parse("ids=a:b.txt:u8");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->input, "ids");
  EXPECT_EQ(source->path, "a:b.txt");
  EXPECT_EQ(source->type, U8);
  EXPECT_EQ(DataSource::parse("ids=a:b.npy")->path, "a:b.npy");
  auto key = DataSource::parse("key=step:4294967295");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->seed, 4294967295u);
  EXPECT_FALSE(source->seed);
  EXPECT_EQ(DataSource::parse("key=./step:7")->path, "./step:7");
  for (const char *text :
       {"ids", "=file", "ids=", "", "key=step:", "key=step:4294967296", "key=step:-1", "key=step:7x"})
    EXPECT_EQ(DataSource::parse(text).status().code(), Code::Usage) << text;
}

//===----------------------------------------------------------------------===//
// The serial program beside the distributed ones
//===----------------------------------------------------------------------===//

TEST(Session, ValuesAreOnTheirOwnersAlone) {
  Fixture fixture(Fault::None, [](Package &) {}, Style::Owned);
  auto session = fixture.start(), serial = fixture.start(true);
  ASSERT_TRUE(session->initialize(nullptr, 7).ok());
  ASSERT_TRUE(serial->initialize(nullptr, 7).ok());
  EXPECT_EQ(fixture.get(*session, session->getVariables(), "w"), fixture.get(*serial, serial->getVariables(), "w"));
  uint64_t bytes = depth * columns / 2 * 4;
  for (int64_t rank = 0; rank != 4; ++rank)
    EXPECT_EQ(session->getExecutor(rank).getPersistentBytes(), (rank < 2 ? 0 : bytes) + bytes + 128);
}

/// Runs two checked steps; the first report that disagrees, or the last.
static Result<CheckReport> runChecked(Fixture &fixture) {
  auto session = fixture.start();
  MW_TRY_ASSIGN(auto check, SerialCheck::create(*session, {}));
  auto initialized = session->initialize(nullptr, 0);
  MW_TRY(initialized.status());
  MW_TRY(check->initialize(nullptr, 0));
  MW_TRY_ASSIGN(Feeder feeder, Feeder::create(session->getPackage(), fixture.folder / "x", {}));
  CheckReport report;
  for (int step = 0; step != 2; ++step) {
    MW_TRY(feeder.load(step));
    feeder.scatter(*session);
    MW_TRY(session->step());
    MW_TRY_ASSIGN(report, check->check(feeder));
    if (!report.agrees())
      return report;
  }
  return report;
}

TEST(SerialCheck, RightProgramsAgree) {
  Fixture fixture;
  auto report = runChecked(fixture);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->agrees()) << report->toString();
  EXPECT_EQ(report->variables, 1u);
  EXPECT_EQ(report->outputs, 2u);
  EXPECT_EQ(report->toString().substr(0, 57), "1 variable and 2 outputs agree with the serial program, l");
}

TEST(SerialCheck, WrongValuesAreFound) {
  Fixture fixture(Fault::WrongScale);
  auto report = runChecked(fixture);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->agrees());
  EXPECT_EQ(report->disagreeing, 1u);
  EXPECT_EQ(report->name, "loss");
}

TEST(SerialCheck, RoundingThatGrewIsHeldAgainstTheSerialProgramsOwn) {
  // Rows 4 to 7 are rows 0 to 3 negated: the loss is zero in exact arithmetic. On dp the halves cancel exactly, one
  // after the other they do not.
  Fixture fixture;
  for (int i = 0; i != rows * depth / 2; ++i)
    fixture.x.as<float>()[rows * depth / 2 + i] = -fixture.x.as<float>()[i];
  fixture.write("x", {{"x", fixture.x}});
  auto report = runChecked(fixture);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->agrees()) << report->toString();
  EXPECT_EQ(report->name, "loss");
  EXPECT_GT(report->allowed, report->difference);
}

TEST(SerialCheck, ReplicasThatDifferAreFound) {
  Fixture fixture(Fault::MissingReduction);
  auto report = runChecked(fixture);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::CheckFailed);
  EXPECT_EQ(report.status().message(), "outputs: ranks 0 and 2 differ in element 0 of \"grad/w\"");
}

TEST(Session, PartsWithoutARankAreErrors) {
  Fixture fixture(Fault::None, [](Package &package) {
    for (Program &program : *package.mutable_programs())
      program.set_output_buffers(0, -1);
  });
  EXPECT_EQ(Session::create(*fixture.package, {}).status().message(), "output \"loss\": no rank holds part 0");
}
