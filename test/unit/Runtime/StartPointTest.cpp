//===- StartPointTest.cpp - where a run begins, and what happens when ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dist-run/StartPoint.h"
#include "TempFolder.h"
#include "meshwright/runtime/Inproc.h"
#include "tools/dist-run/StepEvents.h"
#include <gtest/gtest.h>

using namespace meshwright::runtime;
using namespace meshwright::test;
using namespace meshwright::tool;

namespace {

/// A folder of checkpoints, and a run that may resume from it.
struct Start {
  TempFolder folder;
  Options options;
  std::unique_ptr<World> world = createLocalWorld();

  Start() {
    options.steps = 10;
    options.seed = 7;
    options.checkpoint = folder / "run";
    std::filesystem::create_directory(options.checkpoint);
  }
  /// A checkpoint whose index is no index.
  void addDamaged(uint64_t step) const {
    std::string name = getCheckpointName(step);
    std::filesystem::create_directory(folder / ("run/" + name));
    folder.write("run/" + name + "/" + checkpointIndexName, "{");
  }
  Result<StartPoint> find() const {
    Progress progress(Progress::Shown::Nothing, true, options.steps);
    return findStart(options, *world, progress);
  }
};

TEST(StartPoint, IsTheFirstStepWithoutCheckpoints) {
  for (bool resumes : {false, true}) {
    Start start;
    start.options.resume = resumes;
    auto found = start.find();
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->step, 0u);
    EXPECT_EQ(found->seed, 7u);
    EXPECT_FALSE(found->checkpoint);
    EXPECT_TRUE(found->folder);
    EXPECT_FALSE(found->isUnsaved);
  }
}

TEST(StartPoint, IsSavedWhereNoStepIsRun) {
  Start start;
  start.options.steps = 0;
  EXPECT_TRUE(start.find()->isUnsaved);
  start.options.checkpoint.clear();
  EXPECT_FALSE(start.find()->isUnsaved);
  EXPECT_FALSE(start.find()->folder);
}

TEST(StartPoint, LeavesCheckpointsOfAnotherRunAlone) {
  Start start;
  start.addDamaged(3);
  EXPECT_EQ(start.find().status().message(),
            fmt::format("{} has a checkpoint of step 3; --resume goes on from it, another folder begins anew",
                        start.options.checkpoint));
}

TEST(StartPoint, WantsACheckpointInAFolderThatIsNamed) {
  Start start;
  start.options.resume = true;
  start.options.resumeFrom = start.folder / "none";
  EXPECT_EQ(start.find().status().message(), start.options.resumeFrom + " has no checkpoint");
}

TEST(StartPoint, SuggestsTheCheckpointBeforeADamagedOne) {
  Start start;
  start.options.resume = true;
  start.addDamaged(3);
  start.addDamaged(5);
  std::string message = start.find().status().message();
  EXPECT_NE(message.find(fmt::format("; the checkpoint before it is {}/{}, and --resume-intact goes on from the "
                                     "newest that is whole",
                                     start.options.checkpoint, getCheckpointName(3))),
            std::string::npos)
      << message;
}

TEST(StartPoint, RenamesDamagedCheckpointsThatItPassesOver) {
  Start start;
  start.options.resume = start.options.resumeIntact = true;
  start.addDamaged(3);
  start.addDamaged(5);
  EXPECT_EQ(start.find().status().message(),
            fmt::format("none of the 2 checkpoints in {} is whole", start.options.checkpoint));
  EXPECT_TRUE(start.folder.has("run/damaged-" + getCheckpointName(3)));
  EXPECT_TRUE(start.folder.has("run/damaged-" + getCheckpointName(5)));
}

/// The steps, of so many, at which `is` holds.
std::vector<uint64_t> listSteps(const Options &options, bool StepEvents::*is) {
  std::vector<uint64_t> steps;
  for (uint64_t step = 0; step != options.steps; ++step)
    if (getEvents(options, step).*is)
      steps.push_back(step);
  return steps;
}

TEST(StepEvents, AreThoseThatTheCommandLineAsksFor) {
  using Steps = std::vector<uint64_t>;
  Options options;
  options.steps = 7;
  options.checkEvery = 3;
  options.tracedSteps = 2;
  for (bool StepEvents::*is :
       {&StepEvents::isTraced, &StepEvents::isChecked, &StepEvents::areReplicasChecked, &StepEvents::isSaved})
    EXPECT_EQ(listSteps(options, is), Steps());
  options.checkSerial = true;
  options.checkReplicas = 2;
  options.trace = options.checkpoint = "x";
  EXPECT_EQ(listSteps(options, &StepEvents::isLast), Steps({6}));
  EXPECT_EQ(listSteps(options, &StepEvents::isTraced), Steps({5, 6}));
  EXPECT_EQ(listSteps(options, &StepEvents::isChecked), Steps({0, 3, 6}));
  EXPECT_EQ(listSteps(options, &StepEvents::areReplicasChecked), Steps({1, 3, 5}));
  EXPECT_EQ(listSteps(options, &StepEvents::isSaved), Steps({6}));
  options.saveEvery = 3;
  EXPECT_EQ(listSteps(options, &StepEvents::isSaved), Steps({2, 5, 6}));
  EXPECT_FALSE(getEvents(options, 4).wantState());
  EXPECT_TRUE(getEvents(options, 3).wantState());
  // More traced steps than there are: all of them.
  options.tracedSteps = 100;
  EXPECT_EQ(listSteps(options, &StepEvents::isTraced).size(), 7u);
}

} // namespace
