//===- CheckProgress.cpp - whether a step comes to its end ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the schedules of all ranks at once, with no memory between them: a collective takes place when every member
// has come to it, which moves one after the other what it has issued, and who waits for it issues nothing. That its
// members then mean the same collective has been checked. Every event is looked at once.
//
// Where ranks are left over, each waits for one that has not come, and that, which has something else under way, for
// another: following them leads into a cycle, which is the error.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "Grouping.h"
#include "meshwright/runtime/CollectiveTags.h"
#include "meshwright/runtime/Communicator.h"

using namespace meshwright;
using namespace meshwright::runtime;

/// Bound on the events of all ranks; a small package could otherwise keep its reader busy for days.
static constexpr uint64_t maxEvents = uint64_t(1) << 28;
/// So many ranks of a cycle are named.
static constexpr size_t maxNamed = 16;

namespace {

/// A collective that a rank issues or waits for.
struct Event {
  const Instruction *instruction;
  const Task *task;
  uint32_t microBatch;
  /// The number of the collective in the rank's order of issue.
  uint32_t number;
  /// The members, if the event issues a collective.
  std::optional<Grouping> grouping = {};

  bool isBlocking() const { return !instruction->collective().start(); }
};

/// The events of a program in a step.
struct EventList {
  std::vector<Event> events;
  /// The indices of the collectives in `events`, in the order of issue.
  std::vector<size_t> issued;
};

EventList listEvents(const Program &program, uint32_t position, const Mesh &mesh) {
  EventList list;
  CollectiveTags tags(program);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &item) {
    const Task &task = program.tasks(static_cast<int>(item.task()));
    if (instruction.has_wait()) {
      uint32_t flight = *tags.findWaited(item.task(), instruction.wait().tag());
      list.events.push_back({&instruction, &task, item.micro_batch(), numbers.at({flight, item.micro_batch()})});
    } else if (instruction.has_collective()) {
      const Collective &collective = instruction.collective();
      auto number = static_cast<uint32_t>(list.issued.size());
      if (collective.start())
        numbers[{tags.getStarted(item.task(), collective.tag()), item.micro_batch()}] = number;
      list.issued.push_back(list.events.size());
      list.events.push_back({&instruction, &task, item.micro_batch(), number, Grouping(collective, mesh)});
    }
  });
  return list;
}

class ProgressChecker {
public:
  ProgressChecker(const meshwright::Package &package, const Mesh &mesh, uint32_t position)
      : package(package), mesh(mesh), position(position), ranks(mesh.getNumRanks()) {}

  Status check() {
    for (const Program &program : package.programs())
      lists.push_back(listEvents(program, position, mesh));
    uint64_t events = 0;
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank)
      events += getList(rank).events.size();
    if (events > maxEvents)
      return inputError("the ranks issue {} collectives and waits in a step, more than {}", events, maxEvents);
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank)
      ready.push_back(rank);
    while (!ready.empty()) {
      int64_t rank = ready.back();
      ready.pop_back();
      advance(rank);
    }
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank)
      if (isStuck(rank))
        return explain(rank);
    return {};
  }

private:
  struct Rank {
    /// The event at which the rank is; how many collectives it has issued, and how many of these are over.
    size_t event = 0, issued = 0, over = 0;
    /// True if the rank has come to its first collective that is not over.
    bool hasCome = false;
  };
  /// A group with those of its members that have come to its next collective.
  struct Meeting {
    std::vector<int64_t> members;
    size_t come = 0;
  };

  const EventList &getList(int64_t rank) const { return lists[package.program_of_rank(static_cast<int>(rank))]; }
  bool isStuck(int64_t rank) const { return ranks[rank].over != ranks[rank].issued; }
  /// The first collective that the rank has issued and not completed.
  const Event &getNext(int64_t rank) const {
    const EventList &list = getList(rank);
    return list.events[list.issued[ranks[rank].over]];
  }

  /// The group of what a rank moves next.
  Meeting &getMeeting(int64_t rank) {
    const Event &event = getNext(rank);
    Meeting &meeting = meetings[{*event.grouping, *event.grouping->getFirst(rank, mesh)}];
    if (meeting.members.empty())
      meeting.members = getMembers(event.instruction->collective(), mesh, rank);
    return meeting;
  }

  /// Lets a rank go on as far as it can.
  void advance(int64_t rank) {
    Rank &state = ranks[rank];
    const std::vector<Event> &events = getList(rank).events;
    come(rank);
    for (; state.event != events.size(); ++state.event) {
      const Event &event = events[state.event];
      if (event.grouping && state.issued == event.number) {
        ++state.issued;
        come(rank);
      }
      if (event.isBlocking() && state.over <= event.number)
        return;
    }
  }

  /// Lets a rank come to what it moves next. Where it is the last member that takes place, and all can go on.
  void come(int64_t rank) {
    if (ranks[rank].hasCome || !isStuck(rank))
      return;
    ranks[rank].hasCome = true;
    Meeting &meeting = getMeeting(rank);
    if (++meeting.come != meeting.members.size())
      return;
    meeting.come = 0;
    for (int64_t member : meeting.members) {
      ++ranks[member].over;
      ranks[member].hasCome = false;
      ready.push_back(member);
    }
  }

  /// The rank that a stuck one waits for: the first member of its group that has not come.
  int64_t getMissing(int64_t rank) {
    Meeting &meeting = getMeeting(rank);
    for (int64_t member : meeting.members)
      if (!isStuck(member) || &getMeeting(member) != &meeting)
        return member;
    return rank;
  }

  /// As in messages: `rank 1 waits for rank 2, in c_send #3 (grad/w, model.mlir:88) of task "send 0" for micro-batch
  /// 2`.
  std::string describe(int64_t rank, int64_t missing) const {
    const Event &event = getNext(rank);
    const Instruction &instruction = *event.instruction;
    return fmt::format("rank {} waits for rank {}, in {} #{} ({}{}{}) of task \"{}\"{}", rank, missing,
                       getName(instruction.collective().kind()), instruction.collective().tag(), instruction.name(),
                       instruction.location().empty() ? "" : ", ", instruction.location(), event.task->name(),
                       package.micro_batches() > 1 ? fmt::format(" for micro-batch {}", event.microBatch) : "");
  }

  Status explain(int64_t rank) {
    std::vector<bool> seen(ranks.size());
    while (!seen[rank]) {
      seen[rank] = true;
      int64_t missing = getMissing(rank);
      // Only where lists that differ have been taken for equal.
      if (!isStuck(missing))
        return inputError("{}, which has nothing left to do", describe(rank, missing));
      rank = missing;
    }
    // Now on the cycle.
    std::string cycle;
    size_t length = 0;
    int64_t first = rank;
    do {
      int64_t missing = getMissing(rank);
      if (length++ < maxNamed)
        cycle += (length == 1 ? "" : "; ") + describe(rank, missing);
      rank = missing;
    } while (rank != first);
    if (length > maxNamed)
      cycle += fmt::format("; and {} more", length - maxNamed);
    return inputError("ranks wait for each other for ever{}: {}",
                      package.accumulation_steps() > 1 ? fmt::format(" in step {} of an accumulation", position) : "",
                      cycle);
  }

  const meshwright::Package &package;
  const Mesh &mesh;
  uint32_t position;
  std::vector<Rank> ranks;
  /// By program.
  std::vector<EventList> lists;
  /// By the way to group ranks and the first of the group.
  std::map<std::pair<Grouping, int64_t>, Meeting> meetings;
  /// Ranks that may be able to go on.
  std::vector<int64_t> ready;
};

} // namespace

Status meshwright::runtime::checkProgress(const meshwright::Package &package, const Mesh &mesh,
                                          const std::vector<StepVariant> &variants) {
  // Ranks that all issue the same do so in one order.
  if (package.programs_size() < 2)
    return {};
  for (const StepVariant &variant : variants)
    MW_TRY(ProgressChecker(package, mesh, variant.begin).check());
  return {};
}
