//===- MachineModelTest.cpp - fits of the model of a machine --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MachineModel.h"
#include "TempFolder.h"
#include "test/unit/Random.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

static std::vector<WorkModel::Point> makePoints(const WorkModel &model, int count, double noise) {
  Random random(7);
  std::vector<WorkModel::Point> points;
  for (int i = 0; i != count; ++i) {
    double bytes = std::exp2(random.pick(6, 28)), flops = bytes * random.pick(1, 40);
    double factor = 1 + noise * (i % 2 == 0 ? 1 : -1);
    points.push_back({bytes, flops, model.getSeconds(bytes, flops) * factor});
  }
  return points;
}

TEST(WorkModel, FindsWhatTimesWereMadeOf) {
  for (WorkModel model :
       {WorkModel{2e-6, 1e-10, 5e-12}, WorkModel{0, 1e-10, 0}, WorkModel{3e-6, 0, 1e-11}, WorkModel{1e-6, 2e-10, 0}}) {
    WorkModel fitted = WorkModel::fit(makePoints(model, 100, 0));
    EXPECT_NEAR(fitted.call, model.call, 1e-10);
    EXPECT_NEAR(fitted.byte, model.byte, 1e-15);
    EXPECT_NEAR(fitted.flop, model.flop, 1e-16);
    WorkModel near = WorkModel::fit(makePoints(model, 400, 0.05));
    EXPECT_NEAR(near.getSeconds(1e6, 1e7), model.getSeconds(1e6, 1e7), 0.05 * model.getSeconds(1e6, 1e7));
  }
}

/// Times that grow with fewer bytes would need a negative rate.
TEST(WorkModel, HasNothingBelowZero) {
  std::vector<WorkModel::Point> points = {{100, 0, 3e-6}, {1000, 0, 2e-6}, {10000, 0, 1e-6}};
  WorkModel fitted = WorkModel::fit(points);
  EXPECT_GE(fitted.call, 0);
  EXPECT_GE(fitted.byte, 0);
  EXPECT_GE(fitted.flop, 0);
  EXPECT_GT(fitted.getSeconds(1000, 0), 0);
}

TEST(WorkModel, IsTheTimeOfASinglePoint) {
  std::vector<WorkModel::Point> points = {{4096, 8192, 5e-6}, {4096, 8192, 5e-6}};
  EXPECT_NEAR(WorkModel::fit(points).getSeconds(4096, 8192), 5e-6, 1e-12);
}

TEST(MachineModel, IsReadAsItWasWritten) {
  TempFolder folder;
  MachineModel model;
  model.description = "4 ranks";
  model.link = LinkModel{1e-5, 2e9};
  model.work[{WorkKind::Elementwise, F32}] = {1e-6, 1e-10, 0};
  model.work[{WorkKind::Product, BF16}] = {2e-6, 0, 1e-12};
  std::ofstream(folder / "m") << model.toText();
  auto read = MachineModel::read(folder / "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->toText(), model.toText());
  EXPECT_FALSE(read->nodeLink);
  EXPECT_DOUBLE_EQ(read->getLink(false).bandwidth, 2e9);
  // A type that was not measured takes the model of another type's product.
  EXPECT_DOUBLE_EQ(read->getSeconds({WorkKind::Product, F32, 0, 1e6}), 2e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(read->getSeconds({WorkKind::Reduction, F32, 1e4, 0}), 1e-6 + 1e-6);
}

TEST(MachineModel, SaysWhatIsWrong) {
  TempFolder folder;
  auto fail = [&](const char *text) {
    std::ofstream(folder / "m") << text;
    auto read = MachineModel::read(folder / "m");
    EXPECT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), Code::Input);
    return read.status().message().substr((folder / "m").size());
  };
  EXPECT_EQ(fail("link { latency_seconds: 1e-5\n  speed: 3 }"),
            ":2: Message type \"meshwright.machine.Link\" has no field named \"speed\".");
  EXPECT_EQ(fail("link { latency_seconds: -1 bytes_per_second: 1e9 }"),
            ": link has a latency of -1 s and 1000000000 bytes per second; 0 to 60 s and more than 0 bytes are wanted");
  EXPECT_EQ(fail("product { type: \"f33\" }"), ": \"f33\" is no type of a product; f32 would be one");
  EXPECT_EQ(fail("reduction { flops_per_second: -4 }"), ": reduction has -4, which is no time and no rate");
}
