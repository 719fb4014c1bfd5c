//===- Profile.cpp - the time of steps as a table -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Profile.h"
#include "meshwright/runtime/Json.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// Rows of a smaller share of a step are summed up.
static constexpr double leastShare = 1e-3;
/// Rows of a larger one are measured alone, and say what limits them.
static constexpr double leastExplainedShare = 1e-2;

/// `155 GFLOP/s`, `12.1 GB/s`; empty where there is no rate.
static std::string getRate(const WorkRow &row) {
  if (double flops = row.getFlopsPerSecond(); flops > 0)
    return fmt::format("{:.3g} GFLOP/s", flops * 1e-9);
  if (double bytes = row.getBytesPerSecond(); bytes > 0)
    return fmt::format("{:.3g} GB/s", bytes * 1e-9);
  return "";
}

/// `87`, in percent; empty where the share is not known.
static std::string getPercent(std::optional<double> share) { return share ? fmt::format("{:.0f}", *share * 100) : ""; }

/// The limit of a row that is large enough to explain it.
static WorkLimit findLimit(const WorkProfile &profile, const WorkRow &row, const DeviceRates &best) {
  return row.seconds < leastExplainedShare * profile.seconds ? WorkLimit::None : row.getLimit(best);
}

/// The columns of a row after its time and share.
struct Columns {
  std::string calls = {}, rate = {}, best = {}, alone = {};
  std::string_view limit = {};
};

static std::string getLine(double seconds, double share, const Columns &columns, std::string_view work,
                           std::string_view name) {
  std::string line = fmt::format("{:10.3f} {:6.1f} {:>7} {:>14} {:>6} {:>7}  {:<10}  {}", seconds * 1e3, share * 100,
                                 columns.calls, columns.rate, columns.best, columns.alone, columns.limit, work);
  return name.empty() ? line + "\n" : fmt::format("{} ({})\n", line, name);
}

/// `best: copies 21.4 GB/s, products f32 155 GFLOP/s`; empty where nothing is known.
static std::string describeRates(const DeviceRates &best) {
  if (best.bytesPerSecond <= 0)
    return "";
  std::string text = fmt::format("best of a rank: copies {:.3g} GB/s", best.bytesPerSecond * 1e-9);
  for (const auto &[type, flops] : best.flopsPerSecond)
    text += fmt::format(", products {} {:.3g} GFLOP/s", runtime::getName(type), flops * 1e-9);
  return text + "\n";
}

std::string meshwright::tool::toText(const WorkProfile &profile, const DeviceRates &best) {
  std::string text =
      fmt::format("a traced step: {:.3f} ms; times of a rank\n{}", profile.seconds * 1e3, describeRates(best));
  text += fmt::format("{:>10} {:>6} {:>7} {:>14} {:>6} {:>7}  {:<10}  {}\n", "ms", "% step", "calls", "rate", "% best",
                      "alone", "limit", "work");
  std::set<WorkLimit> limits;
  double rest = 0, total = 0;
  size_t numRest = 0;
  for (const WorkRow &row : profile.rows) {
    total += row.seconds;
    double share = profile.seconds > 0 ? row.seconds / profile.seconds : 0;
    if (share < leastShare && row.movingSeconds < leastShare * profile.seconds) {
      rest += row.seconds;
      ++numRest;
      continue;
    }
    std::optional<double> reached = row.getShare(best), alone;
    if (reached && row.aloneSeconds)
      alone = *reached * row.seconds / *row.aloneSeconds;
    WorkLimit limit = findLimit(profile, row, best);
    limits.insert(limit);
    text += getLine(
        row.seconds, share,
        {fmt::format("{:g}", row.calls), getRate(row), getPercent(reached), getPercent(alone), runtime::getName(limit)},
        row.work, row.name);
  }
  auto getPart = [&](double seconds) { return profile.seconds > 0 ? seconds / profile.seconds : 0; };
  if (numRest != 0)
    text += getLine(rest, getPart(rest), {}, fmt::format("{} smaller rows", numRest), "");
  double idle = std::max(0.0, profile.seconds - total);
  text += getLine(idle, getPart(idle), {}, "between instructions, and ranks that have finished", "");
  for (WorkLimit limit : limits)
    if (limit != WorkLimit::None)
      text += fmt::format("{}: {}\n", runtime::getName(limit), explain(limit));
  return text;
}

std::string meshwright::tool::toJson(const WorkProfile &profile, const DeviceRates &best) {
  OrderedJson rows = OrderedJson::array();
  for (const WorkRow &row : profile.rows) {
    OrderedJson entry = {{"work", row.work},   {"name", row.name},       {"location", row.location},
                         {"calls", row.calls}, {"seconds", row.seconds}, {"flops", row.flops},
                         {"bytes", row.bytes}};
    if (row.isCollective)
      entry["moving_seconds"] = row.movingSeconds;
    if (std::optional<double> reached = row.getShare(best))
      entry["share_of_best"] = *reached;
    if (row.aloneSeconds)
      entry["alone_seconds"] = *row.aloneSeconds;
    if (WorkLimit limit = findLimit(profile, row, best); limit != WorkLimit::None)
      entry["limit"] = runtime::getName(limit);
    rows.push_back(std::move(entry));
  }
  OrderedJson rates = OrderedJson::object();
  if (best.bytesPerSecond > 0)
    rates["bytes_per_second"] = best.bytesPerSecond;
  for (const auto &[type, flops] : best.flopsPerSecond)
    rates["flops_per_second"][std::string(runtime::getName(type))] = flops;
  return runtime::toText(
             OrderedJson{{"step_seconds", profile.seconds}, {"best", std::move(rates)}, {"rows", std::move(rows)}}) +
         "\n";
}

Result<std::optional<OutputFile>> meshwright::tool::writeProfile(const std::string &path, Session &session,
                                                                 const std::vector<TracedStep> &traced) {
  std::vector<const StepTrace *> traces;
  for (const TracedStep &step : traced)
    traces.push_back(&step.trace);
  WorkProfile profile = profileWork(session, traces);
  MW_TRY_ASSIGN(DeviceRates best, session.measureRates());
  MW_TRY(measureAlone(session, profile, leastExplainedShare));
  if (!session.getWorld().isFirst())
    return std::optional<OutputFile>();
  MW_TRY_ASSIGN(OutputFile file, OutputFile::create(path));
  MW_TRY(file.write(path.ends_with(".json") ? toJson(profile, best) : toText(profile, best)));
  return std::optional(std::move(file));
}
