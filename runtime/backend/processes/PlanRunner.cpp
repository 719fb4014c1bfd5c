//===- PlanRunner.cpp - executes plans ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members compare what they bring by numbers: each sends the first member a digest, and gets back whether all are the
// same. Where they are not, they send the descriptions themselves, and the first member says what is wrong.
//
//===----------------------------------------------------------------------===//

#include "PlanRunner.h"
#include "Describe.h"
#include "meshwright/runtime/Agreement.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

/// Messages of a group have a tag that depends on its members.
uint64_t getGroupNumber(const CollectiveCall &call, uint64_t world) {
  uint64_t number = world;
  for (int64_t member : call.members)
    number = (number ^ static_cast<uint64_t>(member)) * 0x9fb21c651e98df25 + 1;
  return number ^ number >> 29;
}

} // namespace

PlanRunner::PlanRunner(CollectiveCall newCall, int64_t rank, const Transport &transport, uint64_t world)
    : call(std::move(newCall)),
      member(std::find(call.members.begin(), call.members.end(), rank) - call.members.begin()),
      plan(planCollective(call, member, {.isOneHost = transport.getNumLocal() == transport.getNumProcesses()})),
      reduceFn(getReduceFn(call.reduction, call.type)), digest(runtime::getDigest(call)) {
  uint64_t group = getGroupNumber(call, world);
  checkTag = transport.getTag(group);
  tag = transport.getTag(group ^ digest);
}

void PlanRunner::setScratch(std::byte *scratch) {
  auto resolve = [&](const std::vector<Copy> &planned) {
    std::vector<Copied> resolved;
    for (const Copy &copy : planned)
      resolved.push_back({copy.to.resolve(scratch), copy.from.resolve(scratch), copy.bytes});
    return resolved;
  };
  auto getRank = [&](uint64_t peer) { return static_cast<int>(call.members[peer]); };
  for (const Batch &batch : plan.batches) {
    Posted &posted = batches.emplace_back();
    for (const Transfer &transfer : batch.transfers)
      posted.messages.push_back(
          {transfer.place.resolve(scratch), transfer.bytes, getRank(transfer.peer), transfer.isSend});
    posted.packed = resolve(batch.packed);
    posted.unpacked = resolve(batch.unpacked);
  }
  copies = resolve(plan.copies);
  for (const Reduction &reduction : plan.reductions) {
    Reduced &reduced = reductions.emplace_back();
    for (const Place &input : reduction.inputs)
      reduced.inputs.push_back(input.resolve(scratch));
    reduced.output = reduction.output.resolve(scratch);
    reduced.count = reduction.count;
  }
  digests.resize(call.members.size());
  for (size_t i = 1; i != call.members.size(); ++i)
    if (member == 0 || member == i) {
      int peer = getRank(member == 0 ? i : 0);
      std::byte *number = reinterpret_cast<std::byte *>(&digests[i]);
      toFirst.push_back({number, sizeof(uint64_t), peer, member != 0});
      fromFirst.push_back({number, sizeof(uint64_t), peer, member == 0});
    }
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Status PlanRunner::check(Post &post) {
  if (call.members.size() == 1)
    return {};
  digests[member] = digest;
  MW_TRY(post.exchange(toFirst, checkTag, &call));
  if (member == 0) {
    bool isSame = std::all_of(digests.begin(), digests.end(), [&](uint64_t other) { return other == digest; });
    std::fill(digests.begin(), digests.end(), isSame);
  }
  MW_TRY(post.exchange(fromFirst, checkTag, &call));
  return digests[member] ? Status() : explainDifference(post);
}

Status PlanRunner::explainDifference(Post &post) {
  MW_TRY_ASSIGN(std::vector<CollectiveCall> calls, gatherCalls(post, call, member, checkTag));
  if (member != 0)
    return post.waitForFailure(call);
  std::vector<const CollectiveCall *> brought;
  for (const CollectiveCall &other : calls)
    brought.push_back(&other);
  post.getLifeline().fail(checkAgreement(call.members, brought));
  return post.getLifeline().takeFailure(&call);
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

Status PlanRunner::run(Post &post) {
  for (const Action &action : plan.actions)
    MW_TRY(perform(action, post));
  return {};
}

Status PlanRunner::perform(const Action &action, Post &post) {
  auto copy = [](const Copied &copied) { std::memcpy(copied.to, copied.from, copied.bytes); };
  switch (action.kind) {
  case Action::Kind::Post: {
    Posted &batch = batches[action.index];
    std::for_each(batch.packed.begin(), batch.packed.end(), copy);
    return post.post(batch.messages, tag, &call);
  }
  case Action::Kind::Complete: {
    Posted &batch = batches[action.index];
    MW_TRY(post.complete(batch.messages, tag, &call));
    std::for_each(batch.unpacked.begin(), batch.unpacked.end(), copy);
    return {};
  }
  case Action::Kind::Reduce: {
    Reduced &reduced = reductions[action.index];
    reduceFn(reduced.inputs, std::span(&reduced.output, 1), 0, reduced.count);
    return {};
  }
  case Action::Kind::Copy:
    copy(copies[action.index]);
  }
  return {};
}
