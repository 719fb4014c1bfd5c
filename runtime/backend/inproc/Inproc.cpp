//===- Inproc.cpp - ranks are threads of one process ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is: meet, work, meet. At the first meeting the members have shown their buffers and descriptions, which
// have to agree; then each reads the others' buffers and writes what it is responsible for; after the second meeting
// the buffers belong to their ranks again. Cost per member, with n members and B bytes of the full value: an all-reduce
// reads B and writes B in its slice of all buffers, a reduce reads B in its slice, the others read and write their
// result once.
//
// Ranks that wait sleep on a condition variable, so that many ranks share few cores. One lock guards all meetings;
// it is held for a few instructions. When every rank waits or has finished, nobody can come any more: that is reported
// at once, and an error on one rank releases all.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

class Hub;

/// The ranks of one group and their meeting place.
struct Group {
  std::vector<int64_t> members;
  /// What each member brings to the collective that is under way; null while it is not there.
  std::vector<const CollectiveCall *> calls;
  uint64_t arrived = 0;
  uint64_t generation = 0;
  std::condition_variable released;
};

class InprocCommunicator : public Communicator {
public:
  InprocCommunicator(Hub &hub, int64_t rank) : hub(hub), rank(rank) {}
  Result<uint32_t> prepare(CollectiveCall call) override;
  Status execute(uint32_t number) override;
  void finishStep(const Status &status) override;

private:
  /// A collective with what its execution needs at hand.
  struct Prepared {
    CollectiveCall call;
    Group *group;
    uint64_t position; // of this rank in the group
    ReduceFn reduce;
    std::vector<const std::byte *> inputs;
    std::vector<std::byte *> outputs;
  };
  void work(Prepared &prepared);
  void reducePart(Prepared &prepared, size_t index);
  void movePart(Prepared &prepared, size_t index);

  Hub &hub;
  int64_t rank;
  std::vector<std::unique_ptr<Prepared>> collectives;
};

class Hub : public Backend {
public:
  explicit Hub(int64_t numRanks) {
    for (int64_t rank = 0; rank != numRanks; ++rank)
      communicators.push_back(std::make_unique<InprocCommunicator>(*this, rank));
  }

  Communicator &getCommunicator(int64_t rank) override { return *communicators[rank]; }

  void beginStep() override {
    std::lock_guard lock(mutex);
    running = communicators.size();
  }

  Group *getGroup(const std::vector<int64_t> &members) {
    std::lock_guard lock(mutex);
    std::unique_ptr<Group> &group = groups[members];
    if (!group) {
      group = std::make_unique<Group>();
      group->members = members;
      group->calls.resize(members.size());
    }
    return group.get();
  }

  /// The first meeting of a collective: all members show their calls.
  Status meet(Group &group, uint64_t position, const CollectiveCall &call) {
    std::unique_lock lock(mutex);
    group.calls[position] = &call;
    if (failure.ok() && group.arrived + 1 == group.members.size())
      if (Status status = checkAgreement(group); !status.ok())
        abort(status);
    return wait(lock, group);
  }

  /// The second meeting: all members are done with each other's buffers.
  Status leave(Group &group) {
    std::unique_lock lock(mutex);
    if (group.arrived + 1 == group.members.size())
      std::fill(group.calls.begin(), group.calls.end(), nullptr);
    return wait(lock, group);
  }

  void finishRank(const Status &status) {
    std::lock_guard lock(mutex);
    --running;
    if (!status.ok() && failure.ok())
      abort(status);
    checkProgress();
  }

private:
  Status wait(std::unique_lock<std::mutex> &lock, Group &group) {
    if (!failure.ok())
      return failure;
    if (++group.arrived == group.members.size()) {
      group.arrived = 0;
      ++group.generation;
      running += group.members.size() - 1;
      group.released.notify_all();
      return {};
    }
    uint64_t generation = group.generation;
    --running;
    checkProgress();
    group.released.wait(lock, [&] { return group.generation != generation || !failure.ok(); });
    // Released before the failure: this meeting took place.
    return group.generation != generation ? Status() : failure;
  }

  /// Where nobody runs and somebody waits, nobody can come.
  void checkProgress() {
    if (running != 0 || !failure.ok())
      return;
    for (auto &[members, group] : groups) {
      if (group->arrived == 0)
        continue;
      // The first member of the group that came, and the first that did not.
      const CollectiveCall *call = nullptr;
      int64_t waiting = 0, missing = -1;
      for (size_t i = 0; i != members.size(); ++i) {
        if (group->calls[i] && !call) {
          call = group->calls[i];
          waiting = members[i];
        } else if (!group->calls[i] && missing < 0) {
          missing = members[i];
        }
      }
      if (call)
        return abort(faultError("{} waits for rank {}, which is not coming: every rank waits or has finished",
                                describe(waiting, *call), missing));
    }
  }

  void abort(Status status) {
    failure = std::move(status);
    for (auto &[members, group] : groups)
      group->released.notify_all();
  }

  static std::string describe(int64_t rank, const CollectiveCall &call) {
    std::string where = call.name;
    if (!call.location.empty())
      where += (where.empty() ? "" : ", ") + call.location;
    return fmt::format("rank {}: {} #{}{}{}{}", rank, getName(call.kind), call.tag, where.empty() ? "" : " (", where,
                       where.empty() ? "" : ")");
  }

  static Status checkAgreement(const Group &group) {
    const CollectiveCall &first = *group.calls[0];
    for (size_t i = 1; i != group.calls.size(); ++i) {
      const CollectiveCall &call = *group.calls[i];
      auto conflict = [&](const std::string &a, const std::string &b) {
        return faultError("{} of {} meets {} of {}", describe(group.members[0], first), a,
                          describe(group.members[i], call), b);
      };
      if (call.kind != first.kind || call.type != first.type || call.reduction != first.reduction ||
          call.tag != first.tag || call.parts.size() != first.parts.size())
        return conflict(describeSize(first), describeSize(call));
      for (size_t part = 0; part != call.parts.size(); ++part) {
        const CallPart &a = first.parts[part], &b = call.parts[part];
        if (a.count != b.count)
          return conflict(fmt::format("{} {}", a.count, getName(first.type)),
                          fmt::format("{} {}", b.count, getName(call.type)));
        if (a.root != b.root && hasRoot(call.kind))
          return conflict(fmt::format("member {}", a.root), fmt::format("member {}", b.root));
      }
    }
    return {};
  }

  /// What is moved, as in messages: `2 f32`, `3 parts of 120 f32`.
  static std::string describeSize(const CollectiveCall &call) {
    uint64_t count = 0;
    for (const CallPart &part : call.parts)
      count += part.count;
    std::string parts = call.parts.size() == 1 ? "" : fmt::format("{} parts of ", call.parts.size());
    return fmt::format("{}{} {}", parts, count, getName(call.type));
  }

  std::mutex mutex;
  std::map<std::vector<int64_t>, std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<InprocCommunicator>> communicators;
  /// Ranks that are in the step and do not wait.
  size_t running = 0;
  Status failure;

  friend class InprocCommunicator;
};

Result<uint32_t> InprocCommunicator::prepare(CollectiveCall call) {
  auto prepared = std::make_unique<Prepared>();
  auto position = std::find(call.members.begin(), call.members.end(), rank);
  assert(position != call.members.end() && "a rank takes part in its own collectives");
  prepared->position = position - call.members.begin();
  prepared->group = hub.getGroup(call.members);
  prepared->reduce = getReduceFn(call.reduction, call.type);
  prepared->inputs.resize(call.members.size());
  prepared->outputs.resize(call.members.size());
  prepared->call = std::move(call);
  collectives.push_back(std::move(prepared));
  return static_cast<uint32_t>(collectives.size() - 1);
}

void InprocCommunicator::work(Prepared &prepared) {
  for (size_t part = 0; part != prepared.call.parts.size(); ++part)
    if (isReducing(prepared.call.kind))
      reducePart(prepared, part);
    else
      movePart(prepared, part);
}

void InprocCommunicator::reducePart(Prepared &prepared, size_t index) {
  const CollectiveCall &call = prepared.call;
  const CallPart &part = call.parts[index];
  uint64_t n = prepared.group->members.size(), me = prepared.position, size = getSize(call.type);
  auto getPart = [&](uint64_t member) -> const CallPart & { return prepared.group->calls[member]->parts[index]; };
  if (call.kind == Collective::REDUCE_SCATTER) {
    for (uint64_t i = 0; i != n; ++i)
      prepared.inputs[i] = getPart(i).in + me * part.count * size;
    return prepared.reduce(prepared.inputs, std::span(&part.out, 1), 0, part.count);
  }
  for (uint64_t i = 0; i != n; ++i) {
    prepared.inputs[i] = getPart(i).in;
    prepared.outputs[i] = getPart(i).out;
  }
  std::span<std::byte *const> outputs = prepared.outputs;
  if (call.kind == Collective::REDUCE)
    outputs = outputs.subspan(part.root, 1);
  // Slices begin at multiples of a cache line, so that no line has two writers.
  uint64_t line = 64 / size;
  uint64_t slice = ((part.count + n - 1) / n + line - 1) / line * line;
  uint64_t begin = std::min(me * slice, part.count), end = std::min(begin + slice, part.count);
  prepared.reduce(prepared.inputs, outputs, begin, end);
}

void InprocCommunicator::movePart(Prepared &prepared, size_t index) {
  const CollectiveCall &call = prepared.call;
  const CallPart &part = call.parts[index];
  uint64_t n = prepared.group->members.size(), bytes = part.count * getSize(call.type);
  auto getPart = [&](uint64_t member) -> const CallPart & { return prepared.group->calls[member]->parts[index]; };
  auto copy = [&](std::byte *to, const std::byte *from) {
    if (bytes != 0)
      std::memcpy(to, from, bytes);
  };
  switch (call.kind) {
  case Collective::ALL_GATHER:
    for (uint64_t i = 0; i != n; ++i)
      copy(part.out + i * bytes, getPart(i).in);
    return;
  case Collective::ALL_TO_ALL:
    for (uint64_t i = 0; i != n; ++i)
      copy(part.out + i * bytes, getPart(i).in + prepared.position * bytes);
    return;
  default:
    if (part.out && part.out != part.in)
      copy(part.out, getPart(part.root).in);
  }
}

Status InprocCommunicator::execute(uint32_t number) {
  Prepared &prepared = *collectives[number];
  MW_TRY(hub.meet(*prepared.group, prepared.position, prepared.call));
  work(prepared);
  return hub.leave(*prepared.group);
}

void InprocCommunicator::finishStep(const Status &status) { hub.finishRank(status); }

} // namespace

std::unique_ptr<Backend> meshwright::runtime::createInprocBackend(int64_t numRanks) {
  return std::make_unique<Hub>(numRanks);
}
