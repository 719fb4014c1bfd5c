//===- StepPlan.cpp - how long a step should take -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/StepPlan.h"
#include "StepSimulator.h"
#include <algorithm>
#include <map>
#include <sched.h>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;

size_t meshwright::runtime::getNumCores() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  return count > 0 ? static_cast<size_t>(count) : std::max(1u, std::thread::hardware_concurrency());
}

namespace {

double getBytes(const Collective &collective, uint64_t members) {
  double bytes = 0;
  for (const CollectivePart &part : collective.parts())
    bytes += getSentBytes(collective.kind(), members, part.count() * getSize(collective.dtype()));
  return bytes;
}

/// Makes the simulator's problem, and its answer a plan.
class Planner {
public:
  Planner(const Session &session, uint32_t position, const StepProfile &profile, const LinkModel &link)
      : package(session.getPackage()), position(position), profile(profile), link(link) {}

  Result<StepPlan> plan(size_t cores) {
    problem.cores = cores;
    instructions.resize(profile.seconds.size());
    for (size_t rank = 0; rank != profile.seconds.size(); ++rank)
      addRank(static_cast<int64_t>(rank));
    MW_TRY_ASSIGN(std::vector<SimulatedSpan> spans, simulate(problem));
    StepPlan plan;
    std::vector<double> compute(problem.ranks.size()), communication(compute), exposed(compute);
    for (const SimulatedSpan &span : spans) {
      auto kind = static_cast<PlannedSpan::Kind>(span.kind);
      const SimulatedItem &item = problem.ranks[span.rank][span.item];
      const Instruction *instruction = instructions[span.rank][span.item];
      bool moves = kind == PlannedSpan::Collective;
      plan.spans.push_back({kind, span.rank, instruction, span.begin, span.end,
                            moves ? getBytes(instruction->collective(), problem.groupSizes[item.which]) : 0});
      (moves ? communication : kind == PlannedSpan::Compute ? compute : exposed)[span.rank] += span.end - span.begin;
      plan.seconds = std::max(plan.seconds, span.end);
    }
    plan.computeSeconds = *std::max_element(compute.begin(), compute.end());
    plan.communicationSeconds = *std::max_element(communication.begin(), communication.end());
    plan.exposedSeconds = *std::max_element(exposed.begin(), exposed.end());
    return plan;
  }

private:
  void addRank(int64_t rank) {
    const meshwright::Package &message = package.message();
    const Program &program = message.programs(static_cast<int>(message.program_of_rank(static_cast<int>(rank))));
    std::vector<SimulatedItem> &items = problem.ranks.emplace_back();
    // How many collectives were issued before the last one of a tag.
    std::map<uint32_t, uint32_t> issued;
    uint32_t count = 0;
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &) {
      SimulatedItem item{SimulatedItem::Compute, profile.seconds[rank][items.size()]};
      if (instruction.has_wait()) {
        item = {SimulatedItem::Wait, 0, issued[instruction.wait().tag()]};
      } else if (instruction.has_collective()) {
        const Collective &collective = instruction.collective();
        item.kind = collective.start() ? SimulatedItem::Start : SimulatedItem::Execute;
        item.which = getGroup(rank, collective);
        uint64_t members = problem.groupSizes[item.which];
        item.delay = members == 1 ? 0 : link.getSeconds(getBytes(collective, members));
        issued[collective.tag()] = count++;
      }
      items.push_back(item);
      instructions[rank].push_back(&instruction);
    });
  }

  uint32_t getGroup(int64_t rank, const Collective &collective) {
    std::vector<int64_t> members =
        package.getMesh().getGroup(rank, std::span(collective.axes().data(), collective.axes().size()));
    auto [entry, isNew] = groups.try_emplace(members, static_cast<uint32_t>(groups.size()));
    if (isNew)
      problem.groupSizes.push_back(static_cast<uint32_t>(members.size()));
    return entry->second;
  }

  const LoadedPackage &package;
  uint32_t position;
  const StepProfile &profile;
  const LinkModel &link;
  StepProblem problem;
  std::map<std::vector<int64_t>, uint32_t> groups;
  std::vector<std::vector<const Instruction *>> instructions;
};

} // namespace

Result<StepPlan> meshwright::runtime::planStep(const Session &session, uint32_t position, const StepProfile &profile,
                                               const LinkModel &link, size_t cores) {
  return Planner(session, position, profile, link).plan(cores);
}
