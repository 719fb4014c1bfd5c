//===- Plans.cpp - what the steps of a run should take --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"
#include "meshwright/runtime/Calibration.h"
#include "meshwright/runtime/Cores.h"
#include <algorithm>
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

std::optional<double> PlannedVariant::getMeasured() const {
  if (measured.empty())
    return std::nullopt;
  std::vector<double> sorted = measured;
  std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
  return sorted[sorted.size() / 2];
}

std::string meshwright::tool::describe(const StepVariant &variant, uint32_t accumulationSteps) {
  if (variant.begin + 1 == variant.end)
    return fmt::format("step {} of an accumulation of {}", variant.begin, accumulationSteps);
  return fmt::format("steps {} to {} of an accumulation of {}", variant.begin, variant.end - 1, accumulationSteps);
}

Result<std::vector<PlannedVariant>> meshwright::tool::planVariants(Session &session) {
  std::vector<PlannedVariant> plans;
  for (const StepVariant &variant : session.getPackage().getVariants()) {
    MW_TRY_ASSIGN(StepProfile profile, session.profile(variant.begin, 3));
    MW_TRY_ASSIGN(StepPlan plan, planStep(session, variant.begin, profile, getNumCores()));
    plans.push_back({variant, std::move(plan), {}});
  }
  return plans;
}

Result<std::vector<PlannedVariant>> meshwright::tool::planVariants(const Session &session,
                                                                   const MachineModel &machine) {
  MW_TRY_ASSIGN(std::vector<uint32_t> hosts, findHosts(session.getWorld(), session.getNumRanks()));
  size_t numHosts = *std::max_element(hosts.begin(), hosts.end()) + 1;
  size_t cores = session.runsAhead() ? hosts.size() : getNumCores() * numHosts;
  std::vector<PlannedVariant> plans;
  for (const StepVariant &variant : session.getPackage().getVariants()) {
    MW_TRY_ASSIGN(StepPlan plan, planStep(session, variant.begin, machine, hosts, cores));
    plans.push_back({variant, std::move(plan), {}});
  }
  return plans;
}

void meshwright::tool::logPlans(const std::vector<PlannedVariant> &plans, Progress &progress) {
  for (const PlannedVariant &planned : plans) {
    const StepPlan &plan = planned.plan;
    std::string which = plans.size() == 1 ? "" : ", " + describe(planned.variant, plans.back().variant.end);
    std::optional<double> measured = planned.getMeasured();
    progress.result(fmt::format(
        "planned{}: {:.6f} s a step: {:.6f} s of computation, {:.6f} s of communication{}, of which "
        "{:.6f} s exposed{}",
        which, plan.seconds, plan.computeSeconds, plan.communicationSeconds,
        plan.copySeconds > 0 ? fmt::format(" and {:.6f} s of copies", plan.copySeconds) : "", plan.exposedSeconds,
        measured ? fmt::format("; measured: {:.6f} s, {:.3f} times as long", *measured, *measured / plan.seconds)
                 : ""));
  }
}

std::vector<PlannedTask> meshwright::tool::listTasks(std::span<const StepSpan> spans) {
  std::vector<PlannedTask> tasks;
  // The one that a rank is in.
  std::map<int64_t, size_t> latest;
  for (const StepSpan &span : spans) {
    bool isBeside = span.kind != StepSpan::Compute && span.kind != StepSpan::Wait;
    if (isBeside || span.task->kind() == Task::TRANSFER)
      continue;
    auto [known, isNew] = latest.try_emplace(span.rank, tasks.size());
    PlannedTask *task = isNew ? nullptr : &tasks[known->second];
    if (task && task->task == span.task && task->microBatch == span.microBatch) {
      task->end = std::max(task->end, span.end);
      continue;
    }
    known->second = tasks.size();
    tasks.push_back({span.rank, span.task, span.microBatch, span.begin, span.end});
  }
  return tasks;
}

bool meshwright::tool::hasActions(std::span<const StepSpan> spans) {
  std::map<int64_t, uint32_t> actions;
  return std::any_of(spans.begin(), spans.end(), [&](const StepSpan &span) {
    return actions.try_emplace(span.rank, span.task->action()).first->second != span.task->action();
  });
}
