//===- CollectiveScript.cpp - random collectives --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveScript.h"
#include <algorithm>
#include <numeric>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

CollectiveScript::CollectiveScript(uint64_t seed, int64_t numRanks, size_t numCalls, uint64_t maxCount,
                                   bool (*wanted)(const CollectiveCall &))
    : random(seed), wanted(wanted) {
  for (size_t i = 0; i != numCalls; ++i) {
    ScriptedCall scripted = drawCall(numRanks, maxCount);
    scripted.call.tag = static_cast<uint32_t>(i);
    scripted.waitedBefore = i + 1 + draw(numCalls - i);
    calls.push_back(std::move(scripted));
  }
}

ScriptedCall CollectiveScript::drawCall(int64_t numRanks, uint64_t maxCount) {
  ScriptedCall scripted;
  CollectiveCall &call = scripted.call;
  do
    call.kind = static_cast<Collective::Kind>(draw(Collective::Kind_ARRAYSIZE));
  while (call.kind == Collective::SEND && numRanks == 1);
  do {
    // Not of floats of 8 bits, which GPUs do not reduce.
    call.type = static_cast<DType>(draw(U64 + 1));
    // Devices that have no trees run the script, too.
    call.reduction = static_cast<Collective::Reduction>(draw(Collective::OR + 1));
  } while (getSize(call.type) == 0 || !isReducible(call.reduction, call.type) || (wanted && !wanted(call)));
  std::vector<int64_t> ranks(numRanks);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin(), ranks.end(), random);
  ranks.resize(call.kind == Collective::SEND ? 2 : 1 + draw(numRanks));
  call.members = ranks;
  call.isStarted = draw(2) != 0;
  call.name = "value";
  scripted.isInPlace = draw(2) != 0;
  drawParts(scripted, maxCount);
  return scripted;
}

void CollectiveScript::drawParts(ScriptedCall &scripted, uint64_t maxCount) {
  CollectiveCall &call = scripted.call;
  for (uint64_t parts = draw(4) == 0 ? 1 + draw(20) : 1; parts != 0; --parts) {
    CallPart &part = call.parts.emplace_back();
    const uint64_t limits[] = {2, 70, 3000, maxCount};
    part.count = draw(limits[draw(4)] + 1);
    part.root = call.kind == Collective::SEND ? 0 : static_cast<uint32_t>(draw(call.members.size()));
  }
}

ScriptedRank::ScriptedRank(const CollectiveScript &script, uint64_t seed, int64_t rank)
    : script(script), rank(rank), buffers(script.getCalls().size()), numbers(script.getCalls().size()),
      random(seed * 1000003 + static_cast<uint64_t>(rank)) {}

bool ScriptedRank::takesPart(const ScriptedCall &scripted) const {
  const std::vector<int64_t> &members = scripted.call.members;
  return std::find(members.begin(), members.end(), rank) != members.end();
}

CollectiveCall ScriptedRank::bind(size_t index) {
  const ScriptedCall &scripted = script.getCalls()[index];
  CollectiveCall call = scripted.call;
  uint64_t n = call.members.size(), size = getSize(call.type);
  for (CallPart &part : call.parts) {
    bool isRoot = call.members[part.root] == rank;
    bool hasIn = (call.kind != Collective::BROADCAST && call.kind != Collective::SEND) || isRoot;
    bool hasOut = call.kind == Collective::REDUCE ? isRoot : call.kind != Collective::SEND || !isRoot;
    bool mayBeInPlace = call.kind == Collective::ALL_REDUCE || hasRoot(call.kind);
    auto allocate = [&](bool perMember) {
      // One more, so that no address is null.
      std::vector<std::byte> &buffer = buffers[index].emplace_back((part.count * (perMember ? n : 1) + 1) * size);
      for (std::byte &byte : buffer)
        byte = static_cast<std::byte>(random() >> 11) & (call.type == I1 ? std::byte{1} : std::byte{0xff});
      // The bits of a NaN after a sum are not specified, so clear the highest bit of the exponent, which excludes NaN.
      if (isFloat(call.type))
        for (size_t i = size - 1; i < buffer.size(); i += size)
          buffer[i] &= std::byte{0xbf};
      return buffer.data();
    };
    if (hasIn)
      part.in = allocate(hasOperandPerMember(call.kind));
    if (hasOut && hasIn && mayBeInPlace && scripted.isInPlace)
      part.out = const_cast<std::byte *>(part.in);
    else if (hasOut)
      part.out = allocate(hasResultPerMember(call.kind));
  }
  return call;
}

Status ScriptedRank::prepare(Communicator &communicator) {
  for (size_t i = 0; i != buffers.size(); ++i)
    if (takesPart(script.getCalls()[i])) {
      MW_TRY_ASSIGN(numbers[i], communicator.prepare(bind(i)));
    }
  return {};
}

Status ScriptedRank::run(Communicator &communicator) const {
  const std::vector<ScriptedCall> &calls = script.getCalls();
  auto waitBefore = [&](size_t next) -> Status {
    for (size_t i = 0; i != calls.size(); ++i)
      if (calls[i].call.isStarted && calls[i].waitedBefore == next && takesPart(calls[i]))
        MW_TRY(communicator.wait(numbers[i]));
    return {};
  };
  for (size_t i = 0; i != calls.size(); ++i) {
    MW_TRY(waitBefore(i));
    if (takesPart(calls[i]))
      MW_TRY(calls[i].call.isStarted ? communicator.start(numbers[i]) : communicator.execute(numbers[i]));
  }
  return waitBefore(calls.size());
}

const CollectiveCall *ScriptedRank::findDifference(const ScriptedRank &other) const {
  for (size_t i = 0; i != buffers.size(); ++i)
    if (buffers[i] != other.buffers[i])
      return &script.getCalls()[i].call;
  return nullptr;
}
