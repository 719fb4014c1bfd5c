//===- ScheduleSection.cpp - in which order the ranks work ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws the tasks of a pipeline in time, a row per rank, with the share of time that each rank stands still. Without
// measured times a profile in which each operation and each byte takes a unit of time stands in.
//
//===----------------------------------------------------------------------===//

#include "Html.h"
#include "Sections.h"
#include <algorithm>
#include <iterator>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

namespace {

constexpr double kWidth = 1100, kRow = 20, kLabel = 60;
/// Narrower boxes have no number in them.
constexpr double kNumberWidth = 12;
constexpr int64_t kMaxRanks = 32;

/// The class of a box, and its name in the legend.
std::pair<const char *, const char *> getKind(Task::Kind kind) {
  switch (kind) {
  case Task::FORWARD:
    return {"c0", "forward"};
  case Task::BACKWARD:
    return {"c6", "backward"};
  case Task::INPUT_GRADIENT:
    return {"c9", "gradients of inputs"};
  case Task::WEIGHT_GRADIENT:
    return {"c5", "gradients of weights"};
  case Task::TRANSFER:
    return {"c3", "transfer"};
  case Task::UPDATE:
    return {"c4", "update"};
  default:
    return {"c3", "step"};
  }
}

/// The figures of one rank for a step.
struct RankFigures {
  double busy = 0;
  /// Forwards that no last backward has followed, at most: a backward, or its second half.
  int64_t inFlight = 0;
};

std::vector<RankFigures> getFigures(const StepPlan &plan, const std::vector<PlannedTask> &tasks, int64_t numRanks) {
  std::vector<RankFigures> figures(numRanks);
  for (const StepSpan &span : plan.spans)
    if (span.kind == StepSpan::Compute)
      figures[span.rank].busy += span.end - span.begin;
  std::vector<int64_t> begun(numRanks);
  for (const PlannedTask &task : tasks) {
    Task::Kind kind = task.task->kind();
    begun[task.rank] += kind == Task::FORWARD ? 1 : kind == Task::BACKWARD || kind == Task::WEIGHT_GRADIENT ? -1 : 0;
    figures[task.rank].inFlight = std::max(figures[task.rank].inFlight, begun[task.rank]);
  }
  return figures;
}

std::string drawBox(const PlannedTask &task, double scale) {
  double left = kLabel + task.begin * scale, width = std::max((task.end - task.begin) * scale, 0.3);
  double top = static_cast<double>(task.rank) * kRow;
  std::string box = fmt::format(
      "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\"><title>"
      "{} of micro-batch {}</title></rect>\n",
      getKind(task.task->kind()).first, left, top, width, kRow - 2, escapeHtml(task.task->name()), task.microBatch);
  if (width >= kNumberWidth)
    box += fmt::format("<text class=\"box\" x=\"{:.2f}\" y=\"{:.0f}\">{}</text>\n", left + width / 2, top + kRow - 7,
                       task.microBatch);
  return box;
}

std::string drawRows(const StepPlan &plan, const std::vector<PlannedTask> &tasks, int64_t numRanks) {
  int64_t rows = std::min(numRanks, kMaxRanks);
  double scale = (kWidth - kLabel) / std::max(plan.seconds, 1e-12);
  std::string text;
  for (int64_t rank = 0; rank != rows; ++rank)
    fmt::format_to(std::back_inserter(text), "<text x=\"0\" y=\"{:.0f}\">rank {}</text>\n",
                   static_cast<double>(rank + 1) * kRow - 7, rank);
  for (const PlannedTask &task : tasks)
    if (task.rank < rows)
      text += drawBox(task, scale);
  return fmt::format("<svg class=\"schedule\" viewBox=\"0 0 {} {}\" role=\"img\">\n{}</svg>\n", kWidth,
                     static_cast<double>(rows) * kRow, text);
}

std::string listFigures(const StepPlan &plan, const std::vector<RankFigures> &figures) {
  double busy = 0;
  std::string rows;
  for (size_t rank = 0; rank != figures.size(); ++rank) {
    busy += figures[rank].busy;
    rows += makeRow({fmt::format("{}", rank), fmt::format("{:.1f} %", 100 * figures[rank].busy / plan.seconds),
                     fmt::format("{}", figures[rank].inFlight)},
                    0);
  }
  double bubble = (static_cast<double>(figures.size()) * plan.seconds - busy) / busy;
  return fmt::format("<p>Ranks wait {:.3f} of the time that they compute: the bubble.</p>\n<table><thead>{}</thead>"
                     "<tbody>{}</tbody></table>\n",
                     bubble, makeRow({"rank", "computing", "micro-batches begun at once"}, 0, true), rows);
}

/// A profile in which an operation, and a byte of traffic, takes a unit of time.
StepProfile countWork(const LoadedPackage &package, uint32_t position) {
  StepProfile profile;
  for (uint32_t program : package.message().program_of_rank()) {
    std::vector<double> &seconds = profile.seconds.emplace_back();
    forEachInstruction(package.message().programs(static_cast<int>(program)), position,
                       [&](const Instruction &instruction, const ScheduleItem &) {
                         bool computes =
                             instruction.has_kernel() || instruction.has_matmul() || instruction.has_convolution();
                         double work = instruction.flops() + static_cast<double>(instruction.traffic_bytes());
                         seconds.push_back(computes ? work : 0);
                       });
  }
  return profile;
}

/// The plans that there are, or those by the work that is counted.
Result<std::vector<PlannedVariant>> getPlans(const Session &session, const std::vector<PlannedVariant> &plans) {
  if (!plans.empty())
    return plans;
  std::vector<PlannedVariant> counted;
  for (const StepVariant &variant : session.getPackage().getVariants()) {
    // With two cores for each rank no ranks share one, so that ranks only wait for each other's values.
    MW_TRY_ASSIGN(StepPlan plan, planStep(session, variant.begin, countWork(session.getPackage(), variant.begin),
                                          2 * static_cast<size_t>(session.getNumRanks())));
    counted.push_back({variant, std::move(plan), {}});
  }
  return counted;
}

std::string drawLegend() {
  std::string legend;
  for (Task::Kind kind : {Task::FORWARD, Task::BACKWARD, Task::INPUT_GRADIENT, Task::WEIGHT_GRADIENT, Task::UPDATE}) {
    auto [color, name] = getKind(kind);
    legend += fmt::format("<span><i class=\"{}\"></i>{}</span>", color, name);
  }
  return fmt::format("<p class=\"legend\">{}</p>\n", legend);
}

} // namespace

std::string meshwright::tool::drawSchedules(const Session &session, bool serial,
                                            const std::vector<PlannedVariant> &plans) {
  const auto &programs = session.getPackage().message().programs();
  if (serial || std::none_of(programs.begin(), programs.end(),
                             [](const Program &program) { return runtime::hasActions(program); }))
    return "";
  auto all = getPlans(session, plans);
  if (!all.ok())
    return fmt::format("<section id=\"schedule\"><p class=\"failed\">{}</p></section>\n",
                       escapeHtml(all.status().message()));
  std::string text = fmt::format("<section id=\"schedule\"><h2>Schedule of a step</h2>\n<p>{}</p>\n",
                                 plans.empty() ? "Tasks are as long as they have operations and bytes to go through."
                                               : "Tasks are as long as they are in the planned step.");
  text += drawLegend();
  for (const PlannedVariant &planned : *all) {
    std::vector<PlannedTask> tasks = listTasks(planned.plan.spans);
    if (all->size() > 1)
      text += fmt::format("<h3>{}</h3>\n", describe(planned.variant, session.getPackage().getAccumulationSteps()));
    text += drawRows(planned.plan, tasks, session.getNumRanks());
    text += listFigures(planned.plan, getFigures(planned.plan, tasks, session.getNumRanks()));
  }
  if (session.getNumRanks() > kMaxRanks)
    text += fmt::format("<p>The first {} of {} ranks are drawn.</p>\n", kMaxRanks, session.getNumRanks());
  return text + "</section>\n";
}
