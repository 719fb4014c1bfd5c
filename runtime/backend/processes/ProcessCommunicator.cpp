//===- ProcessCommunicator.cpp - the collectives of this process ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessCommunicator.h"
#include "meshwright/runtime/Agreement.h"
#include "meshwright/runtime/ThreadTime.h"
#include <algorithm>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

Result<uint32_t> ProcessCommunicator::prepare(CollectiveCall call) {
  if (call.isStarted && call.members.size() > 1)
    MW_TRY(queue.startThread(fmt::format("for the communication of rank {}", rank)));
  collectives.push_back(std::make_unique<Prepared>(std::move(call), rank, post.getTransport(), world));
  Prepared &prepared = *collectives.back();
  auto key = std::pair(prepared.runner.getCall().members, prepared.runner.getDigest());
  prepared.same = firstOfKind.emplace(key, &prepared).first->second;
  return queue.addItem();
}

Status ProcessCommunicator::connect() {
  wakeInTime();
  uint64_t bytes = 0;
  for (const auto &prepared : collectives)
    bytes = std::max(bytes, prepared->runner.getScratchBytes());
  // One collective runs at a time. A cache line more, to begin at one.
  scratch.reset(new std::byte[bytes + 64]);
  uint64_t address = reinterpret_cast<uint64_t>(scratch.get());
  std::byte *aligned = scratch.get() + ((address + 63) / 64 * 64 - address);
  for (const auto &prepared : collectives)
    prepared->runner.setScratch(aligned);
  // Ranks join groups in one order: none waits for a later group before an earlier one is complete.
  std::set<std::vector<int64_t>> groups;
  for (const auto &prepared : collectives)
    groups.insert(prepared->runner.getCall().members);
  for (const std::vector<int64_t> &members : groups) {
    CollectiveCall call;
    call.members = members;
    call.name = "the first meeting of its group";
    PlanRunner meeting(call, rank, post.getTransport(), world);
    meeting.setScratch(nullptr);
    MW_TRY(meeting.check(post));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status ProcessCommunicator::start(uint32_t number) {
  // In a group of one there is nothing to wait for.
  return queue.hasThread() ? queue.start(number) : run(*collectives[number], post);
}

Status ProcessCommunicator::execute(uint32_t number) {
  if (std::optional<Status> status = queue.performBehind(number))
    return *status;
  return run(*collectives[number], post);
}

void ProcessCommunicator::finishStep(const Status &status) {
  if (!status.ok())
    post.getLifeline().fail(status);
  queue.finish();
}

//===----------------------------------------------------------------------===//
// One collective
//===----------------------------------------------------------------------===//

Status ProcessCommunicator::run(Prepared &prepared, Post &post) {
  if (post.getLifeline().hasFailed())
    return post.getLifeline().takeFailure(&prepared.runner.getCall());
  if (checkAlways || !prepared.same->isChecked) {
    MW_TRY(prepared.runner.check(post));
    prepared.same->isChecked = true;
  }
  double before = profiling ? getThreadSeconds() : 0;
  TimeRange time{trace ? TimeRange::now() : 0};
  Status status = prepared.runner.run(post);
  if (trace) {
    time.end = TimeRange::now();
    trace->push_back(time);
  }
  if (profiling)
    prepared.cpuSeconds = getThreadSeconds() - before;
  // A transport's errors do not say where.
  return status.ok() || post.getLifeline().hasFailed() ? status
                                                       : status.within(describe(rank, prepared.runner.getCall()));
}
