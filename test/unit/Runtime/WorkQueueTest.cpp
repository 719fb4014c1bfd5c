//===- WorkQueueTest.cpp - asynchronous work of a rank --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/WorkQueue.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace meshwright::runtime;

namespace {

/// The number of running threads among the rank's own and the queue's, and its minimum whenever one of them paused.
struct Count : RunCounter {
  void resume() override { ++running; }
  void pause() override { least = std::min(least, --running); }

  int running = 1, least = 1;
};

/// A queue that notes what it performs. Item `failing` fails; all wait for `open`.
struct NotingQueue {
  Status perform(uint32_t item) {
    std::unique_lock held(mutex);
    opened.wait(held, [&] { return open; });
    performed.push_back(item);
    return item == failing ? faultError("item {} fails", item) : Status();
  }
  void prepare(uint32_t items) {
    for (uint32_t item = 0; item != items; ++item)
      EXPECT_EQ(queue.addItem(), item);
    EXPECT_TRUE(queue.startThread("for a test").ok());
  }
  void letGo() {
    std::lock_guard held(mutex);
    open = true;
    opened.notify_all();
  }

  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
  uint32_t failing = ~0u;
  std::vector<uint32_t> performed;
  Count count;
  WorkQueue queue{mutex, [this](uint32_t item) { return perform(item); }, &count};
};

TEST(WorkQueue, PerformsInTheOrderOfIssueAndAgain) {
  NotingQueue noting;
  noting.prepare(3);
  noting.letGo();
  std::vector<uint32_t> issued;
  for (int step = 0; step != 100; ++step) {
    for (uint32_t item : {2u, 0u, 1u}) {
      ASSERT_TRUE(noting.queue.start(item).ok());
      issued.push_back(item);
    }
    // The last one's end is that of all.
    ASSERT_TRUE(noting.queue.wait(1).ok());
    std::lock_guard held(noting.mutex);
    ASSERT_EQ(noting.performed, issued);
  }
}

TEST(WorkQueue, WhatIsExecutedStandsBehindWhatWasStarted) {
  NotingQueue noting;
  noting.prepare(2);
  EXPECT_FALSE(noting.queue.performBehind(1)) << "nothing is under way";
  ASSERT_TRUE(noting.queue.start(0).ok());
  std::thread opener([&] { noting.letGo(); });
  std::optional<Status> status = noting.queue.performBehind(1);
  opener.join();
  // The first may have been over before the second was issued: then that one is the caller's.
  EXPECT_TRUE(!status || status->ok());
  noting.queue.finish();
  EXPECT_EQ(noting.performed, status ? (std::vector<uint32_t>{0, 1}) : std::vector<uint32_t>{0});
}

TEST(WorkQueue, AFailureEndsTheQueue) {
  NotingQueue noting;
  noting.failing = 1;
  noting.prepare(3);
  for (uint32_t item : {0u, 1u, 2u})
    ASSERT_TRUE(noting.queue.start(item).ok());
  noting.letGo();
  EXPECT_EQ(noting.queue.wait(2).message(), "item 1 fails");
  EXPECT_TRUE(noting.queue.wait(0).ok()) << "it was over before";
  EXPECT_EQ(noting.queue.start(0).message(), "item 1 fails");
  noting.queue.finish();
  EXPECT_EQ(noting.performed, (std::vector<uint32_t>{0, 1}));
}

TEST(WorkQueue, AFailureFromOutsideReleasesWhoWaits) {
  NotingQueue noting;
  noting.prepare(1);
  ASSERT_TRUE(noting.queue.start(0).ok());
  std::thread other([&] {
    WorkQueue::Lock held(noting.mutex);
    noting.queue.fail(faultError("another rank fails"));
  });
  EXPECT_EQ(noting.queue.wait(0).message(), "another rank fails");
  other.join();
  noting.letGo();
}

TEST(WorkQueue, SomebodyRunsUntilAllIsOver) {
  NotingQueue noting;
  std::vector<uint32_t> items(50);
  std::iota(items.begin(), items.end(), 0);
  noting.prepare(items.size());
  noting.letGo();
  for (int step = 0; step != 100; ++step) {
    for (uint32_t item : items)
      ASSERT_TRUE(noting.queue.start(item).ok());
    ASSERT_TRUE(noting.queue.wait(items.back()).ok());
    noting.queue.finish();
    // This thread; never none, though both waited for each other.
    std::lock_guard held(noting.mutex);
    ASSERT_EQ(noting.count.running, 1);
    ASSERT_EQ(noting.count.least, 1);
  }
}

TEST(WorkQueue, WhatWasStartedIsOverWhenTheQueueIsGone) {
  std::mutex mutex;
  std::vector<uint32_t> performed;
  {
    WorkQueue queue(mutex, [&](uint32_t item) {
      performed.push_back(item);
      return Status();
    });
    ASSERT_TRUE(queue.startThread("for a test").ok());
    for (uint32_t item : {0u, 1u, 2u})
      ASSERT_EQ(queue.addItem(), item);
    for (uint32_t item : {0u, 1u, 2u})
      ASSERT_TRUE(queue.start(item).ok());
  }
  EXPECT_EQ(performed, (std::vector<uint32_t>{0, 1, 2}));
}

} // namespace
