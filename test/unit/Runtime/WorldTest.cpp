//===- WorldTest.cpp - other processes that say nonsense ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/World.h"
#include <cstring>
#include <deque>
#include <gtest/gtest.h>

using namespace meshwright::runtime;

namespace {

/// The second of two processes; the first one says what a test wants it to.
class FakeWorld : public World {
public:
  std::string_view getName() const override { return "fake"; }
  int64_t getProcess() const override { return 1; }
  int64_t getNumProcesses() const override { return 2; }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &) override { return usageError("none"); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte>) override { return std::vector<Bytes>(); }
  Status broadcast(std::span<std::byte> bytes) override {
    if (said.empty() || said.front().size() != bytes.size())
      return faultError("{} bytes are wanted", bytes.size());
    std::memcpy(bytes.data(), said.front().data(), bytes.size());
    said.pop_front();
    return {};
  }
  void abort(const Status &) override {}

  void say(std::vector<uint64_t> numbers) {
    said.emplace_back(numbers.size() * sizeof(uint64_t));
    std::memcpy(said.back().data(), numbers.data(), said.back().size());
  }
  void say(std::string_view text) {
    said.emplace_back(text.size());
    std::memcpy(said.back().data(), text.data(), text.size());
  }

private:
  std::deque<Bytes> said;
};

std::string toText(const Bytes &bytes) { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }

TEST(World, TakesApartWhatTheFirstProcessGathers) {
  FakeWorld world;
  world.say(std::vector<uint64_t>{3, 5}); // bytes of each process
  world.say(std::vector<uint64_t>{8});    // bytes of all
  world.say("abcdefgh");
  auto all = world.gatherForAll({});
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(toText((*all)[0]), "abc");
  EXPECT_EQ(toText((*all)[1]), "defgh");
}

TEST(World, RefusesSizesBeyondTheBytes) {
  for (uint64_t size : {uint64_t(6), UINT64_MAX}) {
    FakeWorld world;
    world.say(std::vector<uint64_t>{3, size});
    world.say(std::vector<uint64_t>{8});
    world.say("abcdefgh");
    EXPECT_EQ(world.gatherForAll({}).status().message(),
              fmt::format("the first process says {} bytes of one process where 5 are left", size));
  }
}

TEST(World, RefusesErrorsThatNoProcessSays) {
  for (std::string_view error : {std::string_view("\x63 far too many"), std::string_view("")}) {
    FakeWorld world;
    world.say(std::vector<uint64_t>{1, error.size()});
    world.say(std::vector<uint64_t>{1 + error.size()});
    world.say(std::string(1, '\0') + std::string(error));
    EXPECT_EQ(world.agree({}).message(), "a process says of an error what no process says");
    EXPECT_TRUE(world.hasAgreedOnFailure());
  }
}

} // namespace
