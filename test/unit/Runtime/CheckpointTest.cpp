//===- CheckpointTest.cpp - indices and folders of checkpoints ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that indices survive writing and reading, that accumulators are restored from their addends, and that indices
// with wrong parts, checksums or types are errors before anything is loaded.
//
//===----------------------------------------------------------------------===//

#include "TempFolder.h"
#include "meshwright/runtime/CheckpointFolder.h"
#include "meshwright/runtime/Checksum.h"
#include "test/unit/Random.h"
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

static std::span<const std::byte> getBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Checksum, IsTheOneOfTheCatalogues) {
  EXPECT_EQ(formatChecksum(computeChecksum(getBytes("123456789"))), "crc32c:e3069283");
  EXPECT_EQ(computeChecksum(getBytes(std::string(32, 0))), 0x8a9136aau);
  EXPECT_EQ(computeChecksum({}), 0u);
  Random random;
  for (int round = 0; round != 100; ++round) {
    std::string text(random.pick(0, 100), 0);
    for (char &c : text)
      c = static_cast<char>(random.pick(0, 255));
    EXPECT_EQ(computeChecksum(getBytes(text)), computeChecksumByTables(getBytes(text)));
  }
}

/// Two halves of the rows of a 4 x 2 variable.
static CheckpointIndex makeIndex() {
  CheckpointIndex index;
  index.step = 7;
  index.dataPosition = 9;
  index.seed = ~uint64_t(0);
  CheckpointVariable w{"w", "parameter", I8, {4, 2}, {{{4, 2}}, {}}, {}};
  w.parts = {{"a", {0}, computeChecksum(getBytes("abcd"))}, {"b", {1}, computeChecksum(getBytes("efgh"))}};
  index.variables = {w};
  return index;
}

/// The files of makeIndex with another index beside them; the error of opening and verifying it.
static std::string getError(const std::string &text) {
  TempFolder folder;
  for (const auto &[name, bytes] : {std::pair("a", "abcd"), std::pair("b", "efgh")}) {
    auto writer = SafeTensorsWriter::create(folder / name, {{"w", I8, {2, 2}}});
    EXPECT_TRUE(writer.ok() && writer->append(getBytes(bytes)).ok() && writer->commit().ok());
  }
  folder.write("index.json", text);
  auto checkpoint = Checkpoint::open(folder / ".");
  std::string message = checkpoint.ok() ? checkpoint->verify().message() : checkpoint.status().message();
  if (checkpoint.ok() && message.empty()) {
    std::string whole(8, 0);
    checkpoint->readWhole(0, std::as_writable_bytes(std::span(whole)));
    EXPECT_EQ(whole, "abcdefgh");
  }
  return message;
}

TEST(CheckpointIndex, ComesBackAsItWas) {
  CheckpointIndex index = makeIndex();
  auto again = CheckpointIndex::parse(index.toJson());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->toJson(), index.toJson());
  EXPECT_EQ(again->seed, ~uint64_t(0));
  EXPECT_EQ(getError(index.toJson()), "");
}

TEST(Checkpoint, WhatDoesNotFitIsAnError) {
  auto change = [](const std::function<void(CheckpointVariable &)> &fn) {
    CheckpointIndex index = makeIndex();
    fn(index.variables[0]);
    return getError(index.toJson());
  };
  auto expect = [&](const std::function<void(CheckpointVariable &)> &fn, const std::string &message) {
    EXPECT_NE(change(fn).find(message), std::string::npos) << change(fn) << " lacks " << message;
  };
  expect([](auto &w) { w.parts[1].at = {0}; }, "two parts are at [0]");
  expect([](auto &w) { w.parts[1].at = {2}; }, "a part is at coordinate 2 of a digit with 2 of them");
  expect([](auto &w) { w.parts[1].at = {}; }, "a part has 0 coordinates but 1 digits split the variable");
  expect([](auto &w) { w.parts[1].file = "../b"; }, "\"../b\" is no file of a checkpoint's folder");
  expect([](auto &w) { w.parts[1].file = "c"; }, "cannot open");
  expect([](auto &w) { w.parts[1].checksum ^= 1; }, "variable \"w\" has checksum crc32c:");
  expect([](auto &w) { w.parts.pop_back(); },
         "the variables of the index have 8 bytes but the tensors of the files have 4");
  expect([](auto &w) { w.shape = {4, 4}; },
         "the variables of the index have 16 bytes but the tensors of the files have 8");
  expect([](auto &w) { w.shape = {2, 4}, w.digits = {{{2, 1}}, {}}; }, "has 2x2xi8 but the part at [0] is 1x4xi8");
  expect([](auto &w) { w.shape = {int64_t(1) << 62, 4}; }, "more elements than can be counted");
  expect([](auto &w) { w.shape = {int64_t(1) << 40, 2}, w.digits = {{{2, 1}}, {}}; }, "bytes but the tensors");
  expect([](auto &w) { w.digits[0][0].extent = 3; }, "a digit of extent 3 does not divide");
  expect([](auto &w) { w.digits[0][0].stride = 0; }, "a digit has extent 4 and stride 0");
  expect([](auto &w) { w.name = "v"; }, "does not have it");
  expect([](auto &w) { w.type = U8; }, "has 2x2xi8 but the part at [0] is 2x2xu8");
}

/// An accumulator that two ranks hold addends of, in the middle of an accumulation.
static CheckpointIndex makeSumIndex() {
  CheckpointIndex index = makeIndex();
  index.accumulationPosition = 2;
  index.accumulationSteps = 4;
  index.variables[0].kind = "accumulator";
  index.variables[0].shape = {2, 2};
  index.variables[0].digits = {{}, {}};
  index.variables[0].addends = 2;
  for (uint64_t addend : {0, 1}) {
    index.variables[0].parts[addend].at = {};
    index.variables[0].parts[addend].addend = addend;
  }
  return index;
}

TEST(Checkpoint, AddendsAreKeptApartAndAdded) {
  // The order in the index says nothing.
  CheckpointIndex index = makeSumIndex();
  std::swap(index.variables[0].parts[0], index.variables[0].parts[1]);
  TempFolder folder;
  for (const auto &[name, bytes] : {std::pair("a", "\1\2\3\4"), std::pair("b", "\5\6\7\177")}) {
    auto writer = SafeTensorsWriter::create(folder / name, {{"w", I8, {2, 2}}});
    ASSERT_TRUE(writer.ok() && writer->append(getBytes({bytes, 4})).ok() && writer->commit().ok());
  }
  folder.write("index.json", index.toJson());
  auto checkpoint = Checkpoint::open(folder / ".");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->getIndex().accumulationPosition, 2u);
  EXPECT_EQ(checkpoint->getIndex().accumulationSteps, 4u);
  std::string whole(4, 0);
  checkpoint->readWhole(0, std::as_writable_bytes(std::span(whole)));
  EXPECT_EQ(whole, "\6\10\12\203");
  checkpoint->readAddend(0, 1, Box(Layout::replicated({2, 2}), {}), std::as_writable_bytes(std::span(whole)).data());
  EXPECT_EQ(whole, "\5\6\7\177");
}

TEST(Checkpoint, WrongSumsAreErrors) {
  auto getSumError = [](const std::function<void(CheckpointIndex &)> &change) {
    CheckpointIndex index = makeSumIndex();
    change(index);
    TempFolder folder;
    for (const char *name : {"a", "b"}) {
      auto writer = SafeTensorsWriter::create(folder / name, {{"w", I8, {2, 2}}});
      EXPECT_TRUE(writer.ok() && writer->append(getBytes("abcd")).ok() && writer->commit().ok());
    }
    folder.write("index.json", index.toJson());
    auto checkpoint = Checkpoint::open(folder / ".");
    std::string message = checkpoint.ok() ? "" : checkpoint.status().message();
    size_t at = message.find(": ");
    return at == std::string::npos ? message : message.substr(at + 2);
  };
  auto getVariableError = [&](const std::function<void(CheckpointVariable &)> &change) {
    return getSumError([&](CheckpointIndex &index) { change(index.variables[0]); });
  };
  EXPECT_EQ(getSumError([](CheckpointIndex &) {}), "");
  EXPECT_EQ(getSumError([](CheckpointIndex &i) { i.accumulationPosition = 4; }),
            "an accumulation of 4 steps is said to be under way after 4");
  EXPECT_EQ(getVariableError([](CheckpointVariable &w) { w.kind = "parameter"; }),
            "variable \"w\": it is a sum of addends, but its kind is \"parameter\" and its type i8");
  EXPECT_EQ(getVariableError([](CheckpointVariable &w) { w.addends = 0; }),
            "variable \"w\": it is the sum of 0 addends where 2 are the least");
  EXPECT_EQ(getVariableError([](CheckpointVariable &w) { w.parts[1].addend = 2; }),
            "variable \"w\": a part is of addend 2 of a variable with 2 of them");
  EXPECT_EQ(getVariableError([](CheckpointVariable &w) { w.parts[1].addend = 0; }),
            "variable \"w\": two parts are at []");
  EXPECT_EQ(getVariableError([](CheckpointVariable &w) { w.addends = 3; }),
            "the variables of the index have 12 bytes but the tensors of the files have 8");
  EXPECT_EQ(getVariableError([](CheckpointVariable &w) { w.addends = uint64_t(1) << 62; }),
            "the variables have more bytes than can be counted");
}

TEST(Checkpoint, DamagedIndicesAreErrors) {
  std::string text = makeIndex().toJson();
  Random random;
  for (int round = 0; round != 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    std::string damaged = text;
    size_t place = random.pick(0, static_cast<int64_t>(text.size()) - 2);
    if (random.chance(20))
      damaged.resize(place);
    else
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << random.pick(0, 7)));
    EXPECT_NE(getError(damaged), "") << damaged;
  }
}

TEST(CheckpointFolder, OneProcessWritesAndReplacesAtOnce) {
  TempFolder folder;
  std::string path = folder / "c";
  auto first = CheckpointFolder::open(path);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(CheckpointFolder::open(path).status().message(), "another process writes checkpoints to " + path);
  for (uint64_t seed : {1, 2}) {
    CheckpointIndex index;
    index.step = 5;
    index.seed = seed;
    auto temporary = first->begin();
    ASSERT_TRUE(temporary.ok() && first->commit(*temporary, index).ok());
    auto opened = Checkpoint::open(path + "/step-000000000005");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->getIndex().seed, seed);
  }
  EXPECT_EQ(listCheckpoints(path)->size(), 1u);
  // The last one whose state is finite is never deleted.
  ASSERT_TRUE(first->prune(0).ok());
  EXPECT_EQ(listCheckpoints(path)->size(), 1u);
  auto commit = [&](uint64_t step, std::optional<std::vector<std::string>> nonFinite) {
    CheckpointIndex index = makeIndex();
    index.step = step;
    index.nonFinite = std::move(nonFinite);
    auto temporary = first->begin();
    ASSERT_TRUE(temporary.ok() && first->commit(*temporary, index).ok());
  };
  auto listSteps = [&] {
    std::vector<uint64_t> steps;
    auto found = listCheckpoints(path);
    for (const auto &[step, name] : *found)
      steps.push_back(step);
    return steps;
  };
  for (uint64_t step : {6, 7, 8}) {
    commit(step, {{"w"}});
    ASSERT_TRUE(first->prune(2).ok());
  }
  EXPECT_EQ(listSteps(), (std::vector<uint64_t>{5, 7, 8}));
  commit(9, {{}});
  ASSERT_TRUE(first->prune(1).ok());
  EXPECT_EQ(listSteps(), (std::vector<uint64_t>{9}));
}

TEST(CheckpointIndex, SaysWhatIsNotFinite) {
  CheckpointIndex index = makeIndex();
  EXPECT_FALSE(CheckpointIndex::parse(index.toJson())->nonFinite.has_value());
  index.nonFinite = {{"w"}};
  auto parsed = CheckpointIndex::parse(index.toJson());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->nonFinite, index.nonFinite);
  EXPECT_FALSE(parsed->isFinite());
  index.nonFinite = {{"v"}};
  EXPECT_EQ(CheckpointIndex::parse(index.toJson()).status().message(),
            "the variable \"v\" is said not to be finite, but there is none of that name");
}
