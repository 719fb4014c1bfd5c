//===- Report.cpp - a run as one page -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "Html.h"
#include "Page.h"
#include "Sections.h"
#include "meshwright/runtime/Json.h"
#include <algorithm>
#include <fmt/ranges.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// More points than a picture has columns show nothing more.
static constexpr size_t kMaxPoints = 1200;

void Report::addPoint(std::string_view key, std::string_view title, uint64_t step, std::optional<double> value) {
  if (!value)
    return;
  auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve &curve) { return curve.key == key; });
  if (found == curves.end())
    found = curves.insert(curves.end(), Curve{std::string(key), std::string(title), {}});
  found->points.push_back({step, *value});
}

void Report::add(const StepMetrics &metrics) {
  auto rate = [&](double amount) {
    return amount > 0 && metrics.costs.seconds > 0 ? std::optional(amount / metrics.costs.seconds) : std::nullopt;
  };
  addPoint("loss", "loss", metrics.step, metrics.loss);
  addPoint("grad_norm", "norm of the gradients", metrics.step, metrics.gradNorm);
  addPoint("lr", "learning rate", metrics.step, metrics.learningRate);
  addPoint("loss_scale", "scale of the loss", metrics.step, metrics.lossScale);
  addPoint("skipped_steps", "skipped steps", metrics.step, metrics.skippedSteps);
  addPoint("tokens_per_s", "tokens per second", metrics.step, rate(static_cast<double>(metrics.tokens)));
  addPoint("model_flops_per_s", "FLOPs of the model per second", metrics.step, rate(metrics.modelFlops));
  addPoint("seconds", "seconds per step", metrics.step, metrics.costs.seconds);
  seconds.push_back(metrics.costs.seconds);
  last = metrics;
}

std::string Report::getSummary(const Status &end) const {
  std::string rows;
  auto add = [&](const std::string &what, const std::string &value) { rows += makeRow({what, value}, 1); };
  if (last) {
    add("steps", fmt::format("{} of {}", last->step + 1, options.steps));
    if (last->loss)
      add("loss", fmt::format("{:.6g}", *last->loss));
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    double median = sorted[sorted.size() / 2];
    add("seconds per step (median)", fmt::format("{:.6g}", median));
    if (last->tokens > 0 && median > 0)
      add("tokens per second", fmt::format("{:.6g}", static_cast<double>(last->tokens) / median));
    if (last->modelFlops > 0 && median > 0)
      add("FLOPs of the model per second", fmt::format("{:.6g}", last->modelFlops / median));
    if (last->skippedSteps)
      add("skipped steps", fmt::format("{:.0f}", *last->skippedSteps));
    add("peak memory of a rank", formatBytes(static_cast<double>(last->peakBytes)));
  }
  std::string state = end.ok()
                          ? "<p id=\"end\">Done.</p>\n"
                          : fmt::format("<p id=\"end\" class=\"failed\">Stopped: {}</p>\n", escapeHtml(end.message()));
  return state + fmt::format("<section id=\"summary\"><table><tbody>{}</tbody></table></section>\n", rows);
}

std::string Report::getCurves() const {
  if (curves.empty())
    return "<section id=\"curves\"><p>No step was run.</p></section>\n";
  std::string text = "<section id=\"curves\"><h2>Steps</h2>\n<div class=\"curves\">\n";
  for (const Curve &curve : curves)
    text += drawCurve(curve.thin(kMaxPoints));
  return text + "</div></section>\n";
}

/// The points of the curves, as they are drawn.
std::string Report::getData() const {
  OrderedJson data = {{"curves", OrderedJson::object()}};
  for (const Curve &curve : curves) {
    OrderedJson &points = data["curves"][curve.key] = OrderedJson::array();
    for (auto [step, value] : curve.thin(kMaxPoints).points)
      points.push_back({step, value});
  }
  return fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", escapeScript(toText(data)));
}

std::string Report::getRun(const LoadedPackage &package, const Session *session) const {
  const Mesh &mesh = package.getMesh();
  std::vector<std::string> axes;
  for (size_t axis = 0; axis != mesh.getNumAxes(); ++axis)
    axes.push_back(fmt::format("{}={}", mesh.getName(axis), mesh.getSize(axis)));
  std::string rows;
  auto add = [&](const std::string &what, const std::string &value) { rows += makeRow({what, value}, 2); };
  add("mesh", fmt::format("[{}], {} ranks", fmt::join(axes, ", "), mesh.getNumRanks()));
  if (options.serial)
    add("program", "serial");
  if (session && !session->getTarget().empty())
    add("kernels for", session->getTarget());
  if (!package.message().producer().empty())
    add("made by", package.message().producer());
  return fmt::format(
      "<section id=\"run\"><h2>Run</h2>\n<pre id=\"command\">{}</pre>\n<table><tbody>{}</tbody></table>\n"
      "<pre id=\"versions\">{}</pre></section>\n",
      escapeHtml(options.command), rows, escapeHtml(getVersions()));
}

Status Report::write(OutputFile &file, const LoadedPackage &package, const Session *session,
                     const CheckpointWriter *writer, const std::vector<PlannedVariant> &plans,
                     const Status &end) const {
  std::string title = escapeHtml(options.package);
  std::string page =
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title><style>{}"
                  "\n</style></head><body>\n<h1>{}</h1>\n",
                  title, kStyle, title);
  page += getSummary(end) + getCurves();
  if (session)
    page += drawMemory(*session, options.serial, writer) + listConversions(*session, options.serial) +
            drawSchedules(*session, options.serial, plans) + drawTimelines(*session, plans);
  page += getRun(package, session) + getData() + fmt::format("<script>{}\n</script>\n</body></html>\n", kScript);
  MW_TRY(file.write(page));
  return file.commit();
}
