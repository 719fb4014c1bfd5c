//===- Calibration.cpp - a machine's model, measured ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Calibration.h"
#include "meshwright/runtime/StepTrace.h"
#include <algorithm>
#include <array>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;

Result<std::vector<uint32_t>> meshwright::runtime::findHosts(World &world, int64_t numRanks) {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  MW_TRY_ASSIGN(std::vector<Bytes> names, world.gatherForAll(std::as_bytes(std::span(name))));
  std::vector<Bytes> distinct;
  std::vector<uint32_t> hosts(static_cast<size_t>(numRanks));
  for (size_t process = 0; process != names.size(); ++process) {
    auto known = std::find(distinct.begin(), distinct.end(), names[process]);
    auto host = static_cast<uint32_t>(known - distinct.begin());
    if (known == distinct.end())
      distinct.push_back(names[process]);
    RankRange ranks = world.getRanks(numRanks, static_cast<int64_t>(process));
    std::fill(hosts.begin() + ranks.begin, hosts.begin() + ranks.end, host);
  }
  return hosts;
}

namespace {

/// Collects what was measured, and fits the model to it.
class Calibration {
public:
  Calibration(Session &session, std::vector<uint32_t> hosts) : session(session), hosts(std::move(hosts)) {}

  Status measure(int steps) {
    bool isProfiled = !session.runsAhead() && session.getWorld().isAlone();
    if (isProfiled)
      for (const StepVariant &variant : session.getPackage().getVariants()) {
        MW_TRY_ASSIGN(StepProfile profile, session.profile(variant.begin, steps));
        addProfile(variant.begin, profile);
      }
    // The first round of an accumulation makes what later ones find.
    int round = static_cast<int>(session.getPackage().getAccumulationSteps());
    for (int step = 0; step != (steps + 1) * round; ++step) {
      MW_TRY_ASSIGN(StepTrace trace, traceStep(session));
      if (step >= round)
        addTrace(trace, !isProfiled);
    }
    return {};
  }

  MachineModel fit() const {
    MachineModel model;
    for (const auto &[key, points] : work)
      model.work[key] = WorkModel::fit(points);
    for (const auto &[isWithinHost, points] : links)
      (isWithinHost ? model.link : model.nodeLink) = fitLink(points);
    return model;
  }

private:
  void addWork(int64_t rank, const Instruction &instruction, double seconds) {
    if (std::optional<Work> known = getWork(session.getProgram(rank), instruction); known && seconds > 0)
      work[{known->kind, known->type}].push_back({known->bytes, known->flops, seconds});
  }

  void addProfile(uint32_t position, const StepProfile &profile) {
    for (size_t rank = 0; rank != profile.seconds.size(); ++rank) {
      size_t i = 0;
      auto number = static_cast<int64_t>(rank);
      forEachInstruction(session.getProgram(number), position,
                         [&](const Instruction &instruction, const ScheduleItem &) {
                           addWork(number, instruction, profile.seconds[rank][i++]);
                         });
    }
  }

  void addTrace(const StepTrace &trace, bool hasWork) {
    // The time of each collective on the member that came last: tags and members tell them apart.
    std::map<std::pair<std::vector<int64_t>, std::pair<uint32_t, uint32_t>>, LinkModel::Point> collectives;
    for (const StepSpan &span : trace.spans) {
      if (span.kind == StepSpan::Compute && hasWork)
        addWork(span.rank, *span.instruction, span.getSeconds());
      if (span.kind != StepSpan::Collective || span.bytes == 0)
        continue;
      const Collective &collective = span.instruction->collective();
      LinkModel::Point point{span.bytes, span.end - span.begin};
      auto [known, isNew] = collectives.try_emplace(
          {getMembers(collective, session.getMesh(), span.rank), {collective.tag(), span.microBatch}}, point);
      if (!isNew)
        known->second.seconds = std::min(known->second.seconds, point.seconds);
    }
    for (const auto &[key, point] : collectives)
      if (point.seconds > 0)
        links[isWithinHost(key.first)].push_back(point);
  }

  bool isWithinHost(const std::vector<int64_t> &members) const {
    return std::all_of(members.begin(), members.end(),
                       [&](int64_t rank) { return hosts[rank] == hosts[members.front()]; });
  }

  /// Where all move the same bytes nothing tells latency from bandwidth; then it is all bandwidth.
  static LinkModel fitLink(const std::vector<LinkModel::Point> &points) {
    bool hasSizes = std::any_of(points.begin(), points.end(),
                                [&](const LinkModel::Point &point) { return point.bytes != points.front().bytes; });
    if (hasSizes)
      return LinkModel::fit(points);
    double seconds = 0;
    for (const LinkModel::Point &point : points)
      seconds += point.seconds / static_cast<double>(points.size());
    return {0, points.front().bytes / seconds};
  }

  Session &session;
  std::vector<uint32_t> hosts;
  std::map<std::pair<WorkKind, DType>, std::vector<WorkModel::Point>> work;
  std::map<bool, std::vector<LinkModel::Point>> links;
};

} // namespace

Result<MachineModel> meshwright::runtime::calibrate(Session &session, int steps) {
  MW_TRY_ASSIGN(std::vector<uint32_t> hosts, findHosts(session.getWorld(), session.getNumRanks()));
  Calibration calibration(session, std::move(hosts));
  MW_TRY(calibration.measure(steps));
  MachineModel model = calibration.fit();
  model.description = fmt::format("{} ranks, {}", session.getNumRanks(),
                                  session.getTarget().empty() ? "no kernels" : "kernels for " + session.getTarget());
  return model;
}

StepProfile meshwright::runtime::estimateStep(const Session &session, uint32_t position, const MachineModel &machine) {
  StepProfile profile;
  for (int64_t rank = 0; rank != session.getNumRanks(); ++rank) {
    std::vector<double> &seconds = profile.seconds.emplace_back();
    const Program &program = session.getProgram(rank);
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &) {
      std::optional<Work> work = getWork(program, instruction);
      seconds.push_back(work ? machine.getSeconds(*work) : 0);
    });
  }
  return profile;
}
