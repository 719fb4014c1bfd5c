//===- PlanSection.cpp - what the steps move and when ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The section of the report about communication: a table of conversions as the plan names them, and a timeline of each
// rank in which neighbouring pieces of one kind are drawn as one box.
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"
#include "Html.h"
#include "Sections.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <iterator>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

std::string meshwright::tool::makeRow(const std::vector<std::string> &cells, size_t texts, bool isHead) {
  std::string row = "<tr>";
  for (size_t i = 0; i != cells.size(); ++i)
    fmt::format_to(std::back_inserter(row), "<{0}{1}>{2}</{0}>", isHead ? "th" : "td",
                   i < texts ? "" : " class=\"number\"", escapeHtml(cells[i]));
  return row + "</tr>\n";
}

/// The ranks that run a program: `ranks 0, 1, 2`.
static std::string getRanks(const meshwright::Package &package, int program) {
  std::vector<int> ranks;
  for (int rank = 0; rank != package.program_of_rank_size(); ++rank)
    if (package.program_of_rank(rank) == static_cast<uint32_t>(program))
      ranks.push_back(rank);
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

static std::string listConversions(const std::string &title, const Program &program, uint32_t position,
                                   const Mesh &mesh) {
  std::string rows;
  ConversionCount sum;
  for (const auto &[key, count] : countConversions(program, position, mesh)) {
    rows += makeRow({key.kind, key.axes, key.type, fmt::format("{}", count.values), fmt::format("{}", count.launches),
                     fmt::format("{:.0f}", count.bytes)},
                    3);
    sum.values += count.values;
    sum.launches += count.launches;
    sum.bytes += count.bytes;
  }
  if (rows.empty())
    return fmt::format("<h3>{}</h3><p>Nothing is moved between ranks.</p>\n", escapeHtml(title));
  rows += makeRow(
      {"all", "", "", fmt::format("{}", sum.values), fmt::format("{}", sum.launches), fmt::format("{:.0f}", sum.bytes)},
      3);
  return fmt::format("<h3>{}</h3><table><thead>{}</thead><tbody>{}</tbody></table>\n", escapeHtml(title),
                     makeRow({"conversion", "axes", "type", "values", "launches", "bytes that a rank sends"}, 3, true),
                     rows);
}

std::string meshwright::tool::listConversions(const Session &session, bool serial) {
  const LoadedPackage &package = session.getPackage();
  std::string text = "<section id=\"plan\"><h2>Conversions of a step</h2>\n";
  auto list = [&](const std::string &title, const Program &program, const Mesh &mesh) {
    for (const StepVariant &variant : package.getVariants())
      text += ::listConversions(
          package.getVariants().size() == 1 ? title : title + ", " + describe(variant, package.getAccumulationSteps()),
          program, variant.begin, mesh);
  };
  if (serial)
    list("Serial program", package.message().serial(), session.getMesh());
  for (int i = 0; !serial && i != package.message().programs_size(); ++i)
    list(fmt::format("Program {} of {}", i, getRanks(package.message(), i)), package.message().programs(i),
         session.getMesh());
  return text + "</section>\n";
}

namespace {

constexpr double kWidth = 1100, kLane = 12, kLabel = 60;
constexpr int64_t kMaxRanks = 16;

/// Pieces of one kind on one rank that leave no visible gap.
struct Piece {
  StepSpan::Kind kind;
  int64_t rank;
  double begin, end;
  size_t count;
};

std::vector<Piece> getPieces(const StepPlan &plan) {
  double gap = plan.seconds / kWidth / 2;
  std::vector<Piece> pieces;
  // The last piece of every kind and rank, so that what overlaps is not mixed up.
  std::map<std::pair<int, int64_t>, size_t> latest;
  for (const StepSpan &span : plan.spans) {
    if (span.rank >= kMaxRanks)
      continue;
    auto [known, isNew] = latest.try_emplace({span.kind, span.rank}, pieces.size());
    if (Piece *piece = isNew ? nullptr : &pieces[known->second]; piece && span.begin <= piece->end + gap) {
      piece->end = std::max(piece->end, span.end);
      ++piece->count;
      continue;
    }
    known->second = pieces.size();
    pieces.push_back({span.kind, span.rank, span.begin, span.end, 1});
  }
  return pieces;
}

/// The class of a box, and its name in the legend.
std::pair<const char *, const char *> describe(StepSpan::Kind kind) {
  switch (kind) {
  case StepSpan::Compute:
    return {"c6", "computation"};
  case StepSpan::Collective:
    return {"c5", "collectives"};
  case StepSpan::Wait:
    return {"c4", "waiting"};
  case StepSpan::Fetch:
    return {"c3", "fetches"};
  case StepSpan::WriteBack:
    return {"c3", "write-backs"};
  }
  return {"c3", "unknown"};
}

std::string drawTimeline(const StepPlan &plan, int64_t numRanks) {
  int64_t ranks = std::min(numRanks, kMaxRanks);
  double rowHeight = (plan.copySeconds > 0 ? 3 : 2) * kLane + 6,
         scale = (kWidth - kLabel) / std::max(plan.seconds, 1e-12);
  std::string text;
  for (int64_t rank = 0; rank != ranks; ++rank)
    fmt::format_to(std::back_inserter(text), "<text x=\"0\" y=\"{:.1f}\">rank {}</text>", rank * rowHeight + kLane,
                   rank);
  for (const Piece &piece : getPieces(plan)) {
    auto [color, what] = describe(piece.kind);
    bool copies = piece.kind == StepSpan::Fetch || piece.kind == StepSpan::WriteBack;
    int lane = copies ? 2 : piece.kind == StepSpan::Collective ? 1 : 0;
    double top = piece.rank * rowHeight + lane * kLane;
    fmt::format_to(
        std::back_inserter(text),
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"><title>{} of {}: {:.6f} to "
        "{:.6f} s</title></rect>\n",
        color, kLabel + piece.begin * scale, top, std::max((piece.end - piece.begin) * scale, 0.3), kLane, what,
        piece.count, piece.begin, piece.end);
  }
  return fmt::format("<svg class=\"timeline\" viewBox=\"0 0 {} {}\" role=\"img\">{}</svg>\n", kWidth, ranks * rowHeight,
                     text);
}

} // namespace

std::string meshwright::tool::drawTimelines(const Session &session, const std::vector<PlannedVariant> &plans) {
  if (plans.empty())
    return "";
  std::string text =
      "<section id=\"timeline\"><h2>Planned step</h2>\n<p class=\"legend\"><span><i class=\"c6\"></i>computation"
      "</span><span><i class=\"c5\"></i>communication</span><span><i class=\"c3\"></i>copies from and to the "
      "host</span>"
      "<span><i class=\"c4\"></i>waiting for them</span></p>\n";
  for (const PlannedVariant &planned : plans) {
    if (plans.size() > 1)
      text += fmt::format("<h3>{}</h3>\n", describe(planned.variant, session.getPackage().getAccumulationSteps()));
    std::optional<double> measured = planned.getMeasured();
    text +=
        fmt::format("<p>{:.6f} s planned, {:.6f} s of computation, {:.6f} s of communication, of which {:.6f} s exposed"
                    "{}.</p>\n",
                    planned.plan.seconds, planned.plan.computeSeconds, planned.plan.communicationSeconds,
                    planned.plan.exposedSeconds, measured ? fmt::format("; {:.6f} s measured", *measured) : "");
    text += drawTimeline(planned.plan, session.getNumRanks());
  }
  if (session.getNumRanks() > kMaxRanks)
    text += fmt::format("<p>The first {} of {} ranks.</p>\n", kMaxRanks, session.getNumRanks());
  return text + "</section>\n";
}
