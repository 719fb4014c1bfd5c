//===- SelfTestRank.cpp - one rank's side of the suite --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result is followed by guard bytes. They, and operands that are not also results, have to keep their values.
//
//===----------------------------------------------------------------------===//

#include "SelfTestRank.h"
#include "SelfTestData.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/ranges.h>
#include <numeric>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr uint64_t guardBytes = 64;
static constexpr std::byte guard{0xa5};

static uint64_t alignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

uint64_t SelfTestRank::getBytes(const SelfTestCase &test, const Prepared &prepared) const {
  uint64_t bytes = 64;
  for (uint32_t part = 0; part != test.numParts && !prepared.members.empty(); ++part)
    bytes += alignUp(test.getOperandBytes(part, prepared.members.size())) +
             alignUp(test.getResultBytes(part, prepared.members.size())) + 2 * guardBytes;
  return bytes;
}

/// Gives every part its places, one after the other.
void SelfTestRank::arrange(const SelfTestCase &test, Prepared &prepared, std::byte *begin) const {
  auto address = reinterpret_cast<uintptr_t>(begin);
  std::byte *next = begin + (alignUp(address) - address);
  auto take = [&](uint64_t bytes) { return std::exchange(next, next + alignUp(bytes) + guardBytes); };
  size_t n = prepared.members.size();
  for (uint32_t part = 0; part != test.numParts; ++part) {
    Place &place = prepared.parts.emplace_back();
    if (test.hasOperand(part, prepared.place, n)) {
      place.inBytes = test.getOperandBytes(part, n);
      place.in = take(place.inBytes);
    }
    if (test.hasResult(part, prepared.place, n)) {
      place.outBytes = test.getResultBytes(part, n);
      place.out = test.isInPlace(part, prepared.place, n) ? place.in : take(place.outBytes);
    }
  }
}

/// The operands and results of a case have a place among those of its window, which later ones take over.
Status SelfTestRank::prepare() {
  std::vector<uint64_t> bytes(batch.window);
  cases.resize(batch.cases.size());
  for (size_t i = 0; i != cases.size(); ++i) {
    cases[i].members = batch.cases[i].getMembers(rank, batch.numRanks);
    uint64_t &place = bytes[i % batch.window];
    place = std::max(place, getBytes(batch.cases[i], cases[i]));
  }
  MW_TRY(device.allocate(std::accumulate(bytes.begin(), bytes.end(), uint64_t(0)), 0, 0));
  std::vector<std::byte *> places(batch.window, device.getArena(DEVICE));
  for (size_t i = 1; i != places.size(); ++i)
    places[i] = places[i - 1] + bytes[i - 1];
  for (size_t i = 0; i != cases.size(); ++i)
    if (!cases[i].members.empty())
      MW_TRY(prepareCase(i, places[i % batch.window]));
  return device.finishPreparation();
}

Status SelfTestRank::prepareCase(size_t i, std::byte *memory) {
  const SelfTestCase &test = batch.cases[i];
  Prepared &prepared = cases[i];
  prepared.place = std::find(prepared.members.begin(), prepared.members.end(), rank) - prepared.members.begin();
  arrange(test, prepared, memory);
  CollectiveCall call;
  call.kind = test.kind;
  call.reduction = test.reduction;
  call.type = test.type;
  call.members = prepared.members;
  call.isStarted = test.isStarted;
  call.tag = static_cast<uint32_t>(i);
  call.name = "self-test";
  for (uint32_t part = 0; part != test.numParts; ++part)
    call.parts.push_back({test.getCount(part), prepared.parts[part].in, prepared.parts[part].out,
                          test.getRoot(part, prepared.members.size())});
  MW_TRY_ASSIGN(prepared.number, communicator.prepare(std::move(call)));
  return {};
}

Status SelfTestRank::fill(const SelfTestCase &test, const Prepared &prepared) {
  for (uint32_t part = 0; part != prepared.parts.size(); ++part) {
    const Place &place = prepared.parts[part];
    if (place.out) {
      host.assign(alignUp(place.outBytes) + guardBytes, guard);
      MW_TRY(device.write(place.out, host));
    }
    if (place.in) {
      host.resize(place.inBytes);
      makeOperand(test, part, rank, place.inBytes / getSize(test.type)).write(0, host);
      MW_TRY(device.write(place.in, host));
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status SelfTestRank::run(std::atomic<uint64_t> &done) {
  for (size_t begin = 0; begin < cases.size(); begin += batch.window) {
    size_t end = std::min(begin + batch.window, cases.size());
    MW_TRY(runWindow(begin, end));
    done += end - begin;
  }
  return {};
}

Status SelfTestRank::runWindow(size_t begin, size_t end) {
  for (size_t i = begin; i != end; ++i)
    MW_TRY(fill(batch.cases[i], cases[i]));
  std::optional<uint32_t> last;
  for (size_t i = begin; i != end; ++i) {
    if (cases[i].members.empty())
      continue;
    Status status =
        batch.cases[i].isStarted ? communicator.start(cases[i].number) : communicator.execute(cases[i].number);
    MW_TRY(status.within(batch.cases[i].describe()));
    last = batch.cases[i].isStarted ? std::optional(cases[i].number) : std::nullopt;
  }
  // With the last one all that were issued before it are over.
  if (last)
    MW_TRY(communicator.wait(*last).within(batch.cases[begin].describe()));
  for (size_t i = begin; i != end; ++i)
    MW_TRY(check(batch.cases[i], cases[i]));
  return {};
}

Result<double> SelfTestRank::measure(size_t i, int times) {
  if (cases[i].members.empty())
    return 0.0;
  MW_TRY(fill(batch.cases[i], cases[i]));
  // The first ones bring the ranks together.
  for (int warm = 0; warm != 2; ++warm)
    MW_TRY(communicator.execute(cases[i].number));
  MW_TRY(device.synchronize());
  auto begin = std::chrono::steady_clock::now();
  for (int time = 0; time != times; ++time)
    MW_TRY(communicator.execute(cases[i].number));
  MW_TRY(device.synchronize());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  MW_TRY(check(batch.cases[i], cases[i]));
  return seconds / times;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

void SelfTestRank::report(const SelfTestCase &test, const Prepared &prepared, uint64_t wrong, const std::string &what) {
  findings.wrong += wrong;
  if (findings.first.empty())
    findings.first =
        fmt::format("{} among ranks {}: rank {}: {}", test.describe(), fmt::join(prepared.members, " "), rank, what);
}

Result<std::span<const std::byte>> SelfTestRank::fetch(const std::byte *from, uint64_t bytes) {
  host.resize(bytes);
  MW_TRY(device.read(host, from));
  return std::span<const std::byte>(host);
}

Status SelfTestRank::check(const SelfTestCase &test, const Prepared &prepared) {
  for (uint32_t part = 0; part != prepared.parts.size(); ++part) {
    const Place &place = prepared.parts[part];
    if (place.out) {
      MW_TRY_ASSIGN(std::span<const std::byte> found, fetch(place.out, alignUp(place.outBytes) + guardBytes));
      checkResult(test, prepared, part, found.first(place.outBytes));
      checkGuard(test, prepared, part, found.subspan(place.outBytes));
    }
    if (place.in && place.in != place.out) {
      MW_TRY_ASSIGN(std::span<const std::byte> found, fetch(place.in, place.inBytes));
      checkOperand(test, prepared, part, found);
    }
  }
  return {};
}

/// A result is some stretches of values that members bring or of their reduction, one after the other.
void SelfTestRank::checkResult(const SelfTestCase &test, const Prepared &prepared, uint32_t part,
                               std::span<const std::byte> result) {
  uint64_t count = test.getCount(part), size = getSize(test.type);
  auto compare = [&](const PeriodicValues &values, uint64_t first, uint64_t stretch) {
    uint64_t at = 0;
    std::span<const std::byte> found = result.subspan(stretch * count * size, count * size);
    uint64_t wrong = values.countWrong(first, found, at);
    if (wrong != 0)
      report(test, prepared, wrong,
             fmt::format("element {} of part {} is {} where {} is right", stretch * count + at, part,
                         formatElement(test.type, found.data() + at * size), values.format(first + at)));
  };
  size_t n = prepared.members.size();
  // Each member gets its piece of an operand that is divided among them.
  bool isSpread = hasOperandPerMember(test.kind);
  uint64_t first = isSpread ? prepared.place * count : 0, elements = isSpread ? n * count : count;
  if (isReducing(test.kind))
    return compare(makeReduced(test, part, prepared.members, elements), first, 0);
  if (hasRoot(test.kind))
    return compare(makeOperand(test, part, prepared.members[test.getRoot(part, n)], elements), first, 0);
  for (size_t member = 0; member != n; ++member)
    compare(makeOperand(test, part, prepared.members[member], elements), first, member);
}

void SelfTestRank::checkGuard(const SelfTestCase &test, const Prepared &prepared, uint32_t part,
                              std::span<const std::byte> guarded) {
  auto changed = std::find_if(guarded.begin(), guarded.end(), [](std::byte byte) { return byte != guard; });
  if (changed != guarded.end())
    report(test, prepared, 1,
           fmt::format("byte {} after the result of part {} was changed", changed - guarded.begin(), part));
}

void SelfTestRank::checkOperand(const SelfTestCase &test, const Prepared &prepared, uint32_t part,
                                std::span<const std::byte> operand) {
  uint64_t at = 0;
  uint64_t wrong = makeOperand(test, part, rank, operand.size() / getSize(test.type)).countWrong(0, operand, at);
  if (wrong != 0)
    report(test, prepared, wrong, fmt::format("element {} of the operand of part {} was changed", at, part));
}
