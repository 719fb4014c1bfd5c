//===- Inproc.cpp - ranks are threads of one process ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is: meet, work, meet. At the first meeting the members have shown their buffers and descriptions, which
// have to agree; then each reads the others' buffers and writes what it is responsible for; after the second meeting
// the buffers belong to their ranks again. Cost per member, with n members and B bytes of the full value: an all-reduce
// reads B and writes B in its slice of all buffers, the others read and write their result once.
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
      if (call.kind != first.kind || call.count != first.count || call.type != first.type ||
          call.reduction != first.reduction || call.tag != first.tag)
        return faultError("{} of {} {} meets {} of {} {}", describe(group.members[0], first), first.count,
                          getName(first.type), describe(group.members[i], call), call.count, getName(call.type));
    }
    return {};
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
  const CollectiveCall &call = prepared.call;
  uint64_t n = prepared.group->members.size(), me = prepared.position, size = getSize(call.type);
  uint64_t bytes = call.count * size;
  auto input = [&](uint64_t member) { return prepared.group->calls[member]->in; };
  auto copy = [&](std::byte *to, const std::byte *from) {
    if (bytes != 0)
      std::memcpy(to, from, bytes);
  };
  switch (call.kind) {
  case Collective::ALL_REDUCE: {
    for (uint64_t i = 0; i != n; ++i) {
      prepared.inputs[i] = input(i);
      prepared.outputs[i] = prepared.group->calls[i]->out;
    }
    // Slices begin at multiples of a cache line, so that no line has two writers.
    uint64_t line = 64 / size;
    uint64_t slice = ((call.count + n - 1) / n + line - 1) / line * line;
    uint64_t begin = std::min(me * slice, call.count), end = std::min(begin + slice, call.count);
    return prepared.reduce(prepared.inputs, prepared.outputs, begin, end);
  }
  case Collective::REDUCE_SCATTER:
    for (uint64_t i = 0; i != n; ++i)
      prepared.inputs[i] = input(i) + me * bytes;
    return prepared.reduce(prepared.inputs, std::span(&call.out, 1), 0, call.count);
  case Collective::ALL_GATHER:
    for (uint64_t i = 0; i != n; ++i)
      copy(call.out + i * bytes, input(i));
    return;
  default:
    for (uint64_t i = 0; i != n; ++i)
      copy(call.out + i * bytes, input(i) + me * bytes);
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
