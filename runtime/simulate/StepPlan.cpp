//===- StepPlan.cpp - how long a step should take -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the tasks of all ranks into items of the step simulator, with the times of a profile or of a machine model,
// and sums its answer up: the busiest rank, exposed communication, and the span of each instruction.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/StepPlan.h"
#include "StepSimulator.h"
#include "meshwright/runtime/Calibration.h"
#include "meshwright/runtime/CollectiveTags.h"
#include <algorithm>
#include <array>
#include <functional>
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// The name of a span of the simulator in a plan.
StepSpan::Kind getKind(const SimulatedSpan &span, const SimulatedItem &item) {
  if (span.kind != SimulatedSpan::Move)
    return span.kind == SimulatedSpan::Compute ? StepSpan::Compute : StepSpan::Wait;
  return item.channel == Channel::Collectives ? StepSpan::Collective
         : item.channel == Channel::Fetches   ? StepSpan::Fetch
                                              : StepSpan::WriteBack;
}

/// The time of the link of a group of ranks for the bytes that a rank sends, in seconds.
using LinkSeconds = std::function<double(const std::vector<int64_t> &members, double bytes)>;

/// Makes the simulator's problem, and its answer a plan.
class Planner {
public:
  Planner(const Session &session, uint32_t position, const StepProfile &profile, LinkSeconds linkSeconds)
      : package(session.getPackage()), position(position), profile(profile), linkSeconds(std::move(linkSeconds)),
        hostLink(session.getOptions().platform.hostLink) {}

  Result<StepPlan> plan(size_t cores) {
    problem.cores = cores;
    places.resize(profile.seconds.size());
    for (size_t rank = 0; rank != profile.seconds.size(); ++rank)
      addRank(static_cast<int64_t>(rank));
    MW_TRY_ASSIGN(std::vector<SimulatedSpan> spans, simulate(problem));
    StepPlan plan;
    // For each kind of span, and each rank.
    std::array<std::vector<double>, StepSpan::WriteBack + 1> seconds;
    seconds.fill(std::vector<double>(problem.ranks.size()));
    for (const SimulatedSpan &span : spans) {
      const SimulatedItem &item = problem.ranks[span.rank][span.item];
      StepSpan::Kind kind = getKind(span, item);
      const Place &place = places[span.rank][span.item];
      StepSpan planned{kind, span.rank, place.instruction, place.task, place.microBatch, span.begin, span.end};
      if (span.kind == SimulatedSpan::Move) {
        planned.bytes = place.bytes;
        planned.peer = place.peer;
      }
      plan.spans.push_back(planned);
      seconds[kind][span.rank] += span.end - span.begin;
      plan.seconds = std::max(plan.seconds, span.end);
    }
    auto getMost = [&](StepSpan::Kind kind) { return *std::max_element(seconds[kind].begin(), seconds[kind].end()); };
    plan.computeSeconds = getMost(StepSpan::Compute);
    plan.communicationSeconds = getMost(StepSpan::Collective);
    plan.copySeconds = std::max(getMost(StepSpan::Fetch), getMost(StepSpan::WriteBack));
    plan.exposedSeconds = getMost(StepSpan::Wait);
    return plan;
  }

private:
  /// The instruction of an item of the problem, and its task.
  struct Place {
    const Instruction *instruction;
    const Task *task;
    uint32_t microBatch;
    /// The bytes that it moves, and the other rank of a send.
    double bytes = 0;
    int64_t peer = -1;
  };
  /// Where a rank's instructions are in its channels.
  struct Positions {
    /// How much was issued in a channel before a started collective, by flight and micro-batch, or before the last copy
    /// of a tag.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> collectives;
    std::map<uint32_t, std::pair<Channel, uint32_t>> copies;
    std::array<uint32_t, numChannels> counts = {};

    uint32_t getCount(Channel channel) const { return counts[static_cast<size_t>(channel)]; }
    uint32_t issue(Channel channel) { return counts[static_cast<size_t>(channel)]++; }
  };

  void addRank(int64_t rank) {
    const meshwright::Package &message = package.message();
    const Program &program = message.programs(static_cast<int>(message.program_of_rank(static_cast<int>(rank))));
    std::vector<SimulatedItem> &items = problem.ranks.emplace_back();
    Positions positions;
    const CollectiveTags &flights = tags.try_emplace(&program, program).first->second;
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &scheduled) {
      SimulatedItem item{SimulatedItem::Compute, profile.seconds[rank][items.size()]};
      Place place{&instruction, &program.tasks(static_cast<int>(scheduled.task())), scheduled.micro_batch()};
      if (instruction.has_wait())
        item = {SimulatedItem::Wait, 0,
                positions.collectives.at(
                    {*flights.findWaited(scheduled.task(), instruction.wait().tag()), scheduled.micro_batch()})};
      else if (instruction.has_collective()) {
        if (instruction.collective().start())
          positions.collectives[{flights.getStarted(scheduled.task(), instruction.collective().tag()),
                                 scheduled.micro_batch()}] = positions.getCount(Channel::Collectives);
        place.bytes = addCollective(rank, instruction.collective(), item, positions);
        place.peer = getPeer(instruction.collective(), package.getMesh(), rank);
      } else if (instruction.has_copy()) {
        place.bytes = addCopy(rank, program, instruction.copy(), item, positions);
      } else if (instruction.has_copy_wait()) {
        auto [channel, which] = positions.copies[instruction.copy_wait().tag()];
        item = {SimulatedItem::Wait, 0, which, 0, channel};
      }
      items.push_back(item);
      places[rank].push_back(place);
    });
  }

  /// Returns the bytes that the rank sends.
  double addCollective(int64_t rank, const Collective &collective, SimulatedItem &item, Positions &positions) {
    item.kind = collective.start() ? SimulatedItem::Start : SimulatedItem::Execute;
    item.which = getGroup(rank, collective);
    std::vector<int64_t> members = getMembers(collective, package.getMesh(), rank);
    double sent = getSentBytes(collective, package.getMesh(), rank);
    item.delay = members.size() == 1 ? 0 : linkSeconds(members, sent);
    positions.issue(Channel::Collectives);
    return sent;
  }

  /// A copy within a memory is computation. Returns the bytes of others.
  double addCopy(int64_t rank, const Program &program, const Copy &copy, SimulatedItem &item, Positions &positions) {
    const Buffer &to = program.buffers(static_cast<int>(copy.to()));
    if (program.buffers(static_cast<int>(copy.from())).memory() == to.memory())
      return 0;
    item.kind = copy.start() ? SimulatedItem::Start : SimulatedItem::Execute;
    item.channel = to.memory() == HOST ? Channel::WriteBacks : Channel::Fetches;
    item.which = getHostGroup(rank, item.channel);
    auto size = static_cast<double>(getArrayBytes(to));
    item.delay = hostLink ? hostLink->getSeconds(size) : 0;
    uint32_t number = positions.issue(item.channel);
    if (copy.start())
      positions.copies[copy.tag()] = {item.channel, number};
    return size;
  }

  /// A group of the rank alone, for one direction.
  uint32_t getHostGroup(int64_t rank, Channel channel) {
    auto [entry, isNew] = hostGroups.try_emplace({rank, channel}, static_cast<uint32_t>(problem.groupSizes.size()));
    if (isNew)
      problem.groupSizes.push_back(1);
    return entry->second;
  }

  uint32_t getGroup(int64_t rank, const Collective &collective) {
    std::vector<int64_t> members = getMembers(collective, package.getMesh(), rank);
    auto [entry, isNew] = groups.try_emplace(members, static_cast<uint32_t>(problem.groupSizes.size()));
    if (isNew)
      problem.groupSizes.push_back(static_cast<uint32_t>(members.size()));
    return entry->second;
  }

  const LoadedPackage &package;
  uint32_t position;
  const StepProfile &profile;
  LinkSeconds linkSeconds;
  const std::optional<LinkModel> &hostLink;
  StepProblem problem;
  std::map<std::vector<int64_t>, uint32_t> groups;
  std::map<std::pair<int64_t, Channel>, uint32_t> hostGroups;
  std::map<const Program *, CollectiveTags> tags;
  /// By rank, then by item of the problem.
  std::vector<std::vector<Place>> places;
};

} // namespace

Result<StepPlan> meshwright::runtime::planStep(const Session &session, uint32_t position, const StepProfile &profile,
                                               size_t cores) {
  const std::optional<LinkModel> &link = session.getOptions().link;
  auto getSeconds = [&](const std::vector<int64_t> &, double bytes) { return link ? link->getSeconds(bytes) : 0; };
  return Planner(session, position, profile, getSeconds).plan(cores);
}

Result<StepPlan> meshwright::runtime::planStep(const Session &session, uint32_t position, const MachineModel &machine,
                                               std::span<const uint32_t> hosts, size_t cores) {
  StepProfile profile = estimateStep(session, position, machine);
  auto getSeconds = [&](const std::vector<int64_t> &members, double bytes) {
    bool isWithinHost = std::all_of(members.begin(), members.end(),
                                    [&](int64_t rank) { return hosts[rank] == hosts[members.front()]; });
    return machine.getLink(isWithinHost).getSeconds(bytes);
  };
  return Planner(session, position, profile, getSeconds).plan(cores);
}
