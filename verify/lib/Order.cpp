//===- Order.cpp - one order of collectives, and no standstill ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks go through a step together, with no memory between them. A rank has the collectives that it has issued
// under way one after the other; one takes place when it is the next of every member of its group. A rank that waits
// issues nothing. The cost is linear in what all ranks issue; what is known of a program is found out once.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

/// The limit on events of all ranks together; without it a small package could keep the verifier busy for days.
static constexpr uint64_t maxEvents = uint64_t(1) << 28;
static constexpr size_t maxNamed = 8;

namespace {

/// The ranks that meet: those that differ on these axes alone, or two of them.
struct Grouping {
  std::vector<uint32_t> axes;
  std::optional<std::pair<uint32_t, uint32_t>> ends;
  auto operator<=>(const Grouping &) const = default;
};

/// A collective that a program issues, or a wait for one.
struct Event {
  Where where;
  const Collective *collective = nullptr; ///< null for a wait
  uint64_t number = 0;                    ///< of the collective among those that the program issues
  bool blocks = false;
  uint32_t grouping = 0, signature = 0;
};

struct EventList {
  std::vector<Event> events;
  std::vector<size_t> issued; ///< where the collectives are among the events
};

class Simulator {
public:
  Simulator(const Package &package, const Ranks &mesh, const std::vector<CheckedProgram> &programs, uint32_t position,
            Report &report, Findings &findings)
      : package(package), mesh(mesh), programs(programs), position(position), report(report), findings(findings),
        ranks(static_cast<size_t>(mesh.count())) {}

  void run() {
    for (const CheckedProgram &program : programs)
      listEvents(program);
    uint64_t events = 0;
    for (int64_t rank = 0; rank != mesh.count(); ++rank) {
      events += getList(rank).events.size();
      ready.push_back(rank);
    }
    if (events > maxEvents) {
      fail({}, "the ranks issue {} collectives and waits in a step, more than {} that can be followed", events,
           maxEvents);
      return;
    }
    while (!ready.empty()) {
      int64_t rank = ready.back();
      ready.pop_back();
      if (!advance(rank))
        return;
    }
    for (int64_t rank = 0; rank != mesh.count(); ++rank)
      if (isStuck(rank))
        return explainStandstill(rank);
  }

private:
  struct Rank {
    size_t event = 0;              ///< that it is at
    uint64_t issued = 0, over = 0; ///< collectives
    bool hasCome = false;          ///< to the next one that takes place
  };
  struct Meeting {
    std::vector<int64_t> members;
    std::vector<int64_t> come;
  };

  template <typename... Args> void fail(const Where &where, fmt::format_string<Args...> format, Args &&...args) {
    findings.add(Property::Order, where, fmt::format(format, std::forward<Args>(args)...));
  }

  const EventList &getList(int64_t rank) const { return lists[package.program_of_rank(static_cast<int>(rank))]; }
  bool isStuck(int64_t rank) const {
    return ranks[rank].over != ranks[rank].issued || ranks[rank].event != getList(rank).events.size();
  }
  const Event &getNext(int64_t rank) const { return getList(rank).events[getList(rank).issued[ranks[rank].over]]; }

  void listEvents(const CheckedProgram &program) {
    EventList &list = lists.emplace_back();
    FlightNames names(program);
    std::map<FlightNames::Name, uint64_t> numbers;
    forEachExecuted(program, position, [&](const Executed &executed) {
      if (executed.instruction->has_wait()) {
        if (auto number = numbers.find(*names.findWaited(executed)); number != numbers.end())
          list.events.push_back({getWhere(program, position, executed), nullptr, number->second, true});
      } else if (executed.instruction->has_collective()) {
        const Collective &collective = executed.instruction->collective();
        uint64_t number = list.issued.size();
        if (collective.start())
          numbers[names.getStarted(executed)] = number;
        list.issued.push_back(list.events.size());
        list.events.push_back({getWhere(program, position, executed), &collective, number, !collective.start(),
                               getGrouping(collective), getSignature(collective, executed, program.numTags)});
      }
    });
  }

  uint32_t getGrouping(const Collective &collective) {
    Grouping grouping;
    // An axis of size 1 makes no difference to the members.
    for (uint32_t axis : collective.axes())
      if (mesh.getSize(axis) != 1)
        grouping.axes.push_back(axis);
    if (collective.kind() == Collective::SEND)
      grouping.ends = {collective.parts(0).root(), collective.to()};
    return groupings.try_emplace(std::move(grouping), static_cast<uint32_t>(groupings.size())).first->second;
  }

  /// Members of a collective have equal signatures.
  uint32_t getSignature(const Collective &collective, const Executed &executed, uint64_t numTags) {
    std::vector<uint64_t> content = {static_cast<uint64_t>(collective.kind()),
                                     isReducing(collective.kind()) ? static_cast<uint64_t>(collective.reduction()) : 0,
                                     static_cast<uint64_t>(collective.dtype()),
                                     collective.tag() + executed.before * numTags,
                                     executed.item->micro_batch(),
                                     static_cast<uint64_t>(collective.parts_size())};
    for (const CollectivePart &part : collective.parts())
      content.insert(content.end(), {part.count(), isRooted(collective.kind()) ? part.root() : 0u});
    return signatures.try_emplace(std::move(content), static_cast<uint32_t>(signatures.size())).first->second;
  }

  static std::string describe(const Event &event) {
    const Collective &collective = *event.collective;
    uint64_t count = 0;
    for (const CollectivePart &part : collective.parts())
      count += part.count();
    std::string text = fmt::format("{} #{}", getName(collective.kind()), collective.tag());
    if (isReducing(collective.kind()))
      text += fmt::format(" ({})", Collective::Reduction_Name(collective.reduction()));
    text += fmt::format(" of {} elements of {} in {} parts", count, DType_Name(collective.dtype()),
                        collective.parts_size());
    if (isRooted(collective.kind()))
      text += fmt::format(" with root {}", collective.parts(0).root());
    return text + fmt::format(" for micro-batch {} (task \"{}\", instruction {}, \"{}\")", event.where.microBatch,
                              event.where.task, event.where.instruction, event.where.name);
  }

  /// The meeting of the next collective of a rank; null where the rank is no member of its own group.
  Meeting *getMeeting(int64_t rank) {
    const Event &event = getNext(rank);
    const Collective &collective = *event.collective;
    auto [first, number] = mesh.locate(rank, collective.axes());
    bool isEnd = number == collective.parts(0).root() || number == collective.to();
    if (collective.kind() == Collective::SEND && !isEnd)
      return nullptr;
    Meeting &meeting = meetings[{event.grouping, first}];
    if (meeting.members.empty()) {
      meeting.members = mesh.listMembers(first, collective.axes());
      if (collective.kind() == Collective::SEND)
        meeting.members = {meeting.members[collective.parts(0).root()], meeting.members[collective.to()]};
    }
    return &meeting;
  }

  /// Lets a rank go on as far as it can. False where something is wrong.
  bool advance(int64_t rank) {
    Rank &state = ranks[rank];
    const std::vector<Event> &events = getList(rank).events;
    if (!come(rank))
      return false;
    for (; state.event != events.size(); ++state.event) {
      const Event &event = events[state.event];
      if (event.collective && state.issued == event.number) {
        ++state.issued;
        if (!come(rank))
          return false;
      }
      if (event.blocks && state.over <= event.number)
        return true;
    }
    return true;
  }

  /// Lets a rank come to what takes place next on it; with the last member it does.
  bool come(int64_t rank) {
    Rank &state = ranks[rank];
    if (state.hasCome || state.over == state.issued)
      return true;
    state.hasCome = true;
    if (!checkBuffers(rank))
      return false;
    Meeting *meeting = getMeeting(rank);
    if (!meeting) {
      fail(withRank(rank), "issues {}, but is neither of its ends", describe(getNext(rank)));
      return false;
    }
    if (!meeting->come.empty() && getNext(meeting->come.front()).signature != getNext(rank).signature) {
      int64_t other = meeting->come.front();
      fail(withRank(rank), "ranks {} and {} are in one group, but rank {} issues {} where rank {} issues {}", other,
           rank, other, describe(getNext(other)), rank, describe(getNext(rank)));
      return false;
    }
    meeting->come.push_back(rank);
    if (meeting->come.size() != meeting->members.size())
      return true;
    ++report.collectives;
    meeting->come.clear();
    for (int64_t member : meeting->members) {
      ++ranks[member].over;
      ranks[member].hasCome = false;
      ready.push_back(member);
    }
    return true;
  }

  Where withRank(int64_t rank) const {
    Where where = getNext(rank).where;
    where.ranks = fmt::format("{}", rank);
    return where;
  }

  /// A member has the operands and results that its place in the group wants.
  bool checkBuffers(int64_t rank) {
    const Collective &collective = *getNext(rank).collective;
    uint64_t number = mesh.locate(rank, collective.axes()).second;
    Collective::Kind kind = collective.kind();
    for (const CollectivePart &part : collective.parts()) {
      bool isRoot = number == part.root();
      bool needsIn = isRooted(kind) && kind != Collective::REDUCE ? isRoot : true;
      bool mayHaveIn = needsIn;
      bool needsOut = kind == Collective::REDUCE      ? isRoot
                      : kind == Collective::SEND      ? number == collective.to()
                      : kind == Collective::BROADCAST ? !isRoot
                                                      : true;
      bool mayHaveOut = needsOut || kind == Collective::BROADCAST;
      if ((part.has_in() ? mayHaveIn : !needsIn) && (part.has_out() ? mayHaveOut : !needsOut))
        continue;
      fail(withRank(rank), "member {} of {} has {} operand and {} result for part \"{}\" with root {}", number,
           describe(getNext(rank)), part.has_in() ? "an" : "no", part.has_out() ? "a" : "no", part.name(), part.root());
      return false;
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Standstill
  //===--------------------------------------------------------------------===//

  /// The first member of the group that a stuck rank waits in which has not come.
  int64_t getMissing(int64_t rank) {
    Meeting *meeting = getMeeting(rank);
    for (int64_t member : meeting->members)
      if (!ranks[member].hasCome || getMeeting(member) != meeting)
        return member;
    return rank;
  }

  void explainStandstill(int64_t rank) {
    std::vector<bool> seen(ranks.size());
    while (!seen[rank]) {
      seen[rank] = true;
      int64_t missing = getMissing(rank);
      if (ranks[missing].over == ranks[missing].issued)
        return fail(withRank(rank), "rank {} waits for ever for rank {}, which issues nothing more, in {}", rank,
                    missing, describe(getNext(rank)));
      rank = missing;
    }
    std::string cycle;
    size_t length = 0;
    int64_t first = rank;
    do {
      int64_t missing = getMissing(rank);
      if (length++ < maxNamed)
        cycle += fmt::format("{}rank {} waits for rank {} in {}", length == 1 ? "" : "; ", rank, missing,
                             describe(getNext(rank)));
      rank = missing;
    } while (rank != first);
    if (length > maxNamed)
      cycle += fmt::format("; and {} more", length - maxNamed);
    fail(withRank(first), "ranks wait for each other for ever: {}", cycle);
  }

  const Package &package;
  const Ranks &mesh;
  const std::vector<CheckedProgram> &programs;
  uint32_t position;
  Report &report;
  Findings &findings;
  std::vector<Rank> ranks;
  std::vector<EventList> lists;
  std::map<Grouping, uint32_t> groupings;
  std::map<std::vector<uint64_t>, uint32_t> signatures;
  /// By grouping and the first rank of the group.
  std::map<std::pair<uint32_t, int64_t>, Meeting> meetings;
  std::vector<int64_t> ready;
};

} // namespace

void verify::checkOrder(const Package &package, const Ranks &mesh, const std::vector<CheckedProgram> &programs,
                        const std::vector<uint32_t> &variants, Report &report, Findings &findings) {
  for (uint32_t position : variants)
    Simulator(package, mesh, programs, position, report, findings).run();
}
