//===- PlanTotals.cpp - sums a step's conversions by kind -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTotals.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Support/Units.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

std::map<std::string, ConversionTotal> meshwright::getTotals(const Plan &plan) {
  std::map<std::string, ConversionTotal> totals;
  for (const PlannedConversion &conversion : plan.conversions) {
    ConversionTotal &total = totals[conversion.kind];
    ++total.count;
    // The mean over all ranks of the plan.mesh: groups that take no part send nothing.
    double groups = static_cast<double>(conversion.ranks) / static_cast<double>(conversion.participants);
    double bytes = conversion.bytes * static_cast<double>(conversion.group) * groups /
                   static_cast<double>(plan.mesh.getNumRanks()) * static_cast<double>(conversion.times) /
                   static_cast<double>(getAccumulatedSteps(plan).value_or(1));
    total.bytes += bytes;
    total.bytesBetweenNodes += conversion.nodes > 1 ? bytes : 0;
  }
  return totals;
}

/// Over how many steps gradients are accumulated, where they are.
std::optional<int64_t> meshwright::getAccumulatedSteps(const Plan &plan) {
  std::optional<Axis> axis = plan.mesh.find(AxisKind::Steps);
  return axis ? std::optional(plan.mesh.getSize(*axis)) : std::nullopt;
}

/// True if the strategy states the size of a node.
static bool hasNodes(const Plan &plan) { return !plan.conversions.empty() && plan.conversions.front().nodes != 0; }

void meshwright::printTotals(llvm::json::OStream &json, const Plan &plan) {
  double bytes = 0, betweenNodes = 0;
  int64_t count = 0, countOfSteps = 0;
  json.attributeObject("by_kind", [&] {
    for (const auto &[kind, total] : getTotals(plan))
      json.attributeObject(kind, [&, kind = kind, total = total] {
        json.attribute("bytes", total.bytes);
        if (hasNodes(plan))
          json.attribute("bytes_between_nodes", total.bytesBetweenNodes);
        json.attribute("count", total.count);
        bytes += total.bytes;
        betweenNodes += total.bytesBetweenNodes;
        count += total.count;
      });
  });
  json.attribute("bytes", bytes);
  if (hasNodes(plan))
    json.attribute("bytes_between_nodes", betweenNodes);
  json.attribute("conversions", count);
  std::optional<int64_t> steps = getAccumulatedSteps(plan);
  if (!steps)
    return;
  for (const PlannedConversion &conversion : plan.conversions)
    countOfSteps += conversion.times;
  json.attributeObject("accumulation", [&] {
    json.attribute("bytes", bytes * static_cast<double>(*steps));
    json.attribute("conversions", countOfSteps);
    json.attribute("steps", *steps);
  });
}

/// A line of the table: a kind of conversion, how many there are, their bytes, and words after these.
static void printTotal(llvm::raw_ostream &out, StringRef kind, std::optional<size_t> count, double bytes,
                       const Twine &after = "") {
  out << llvm::left_justify(kind, 16) << llvm::right_justify(count ? std::to_string(*count) : "", 6) << "  "
      << llvm::right_justify(formatBytes(bytes), kBytesWidth) << after << "\n";
}

void meshwright::printTotals(llvm::raw_ostream &out, const Plan &plan) {
  double bytes = 0, betweenNodes = 0;
  for (const auto &[kind, total] : getTotals(plan)) {
    printTotal(out, kind, total.count, total.bytes);
    bytes += total.bytes;
    betweenNodes += total.bytesBetweenNodes;
  }
  printTotal(out, "total", plan.conversions.size(), bytes, " sent per rank and step");
  if (hasNodes(plan))
    printTotal(out, "", std::nullopt, betweenNodes, " of it in groups of several nodes");
  if (std::optional<int64_t> steps = getAccumulatedSteps(plan))
    printTotal(out, "", std::nullopt, bytes * static_cast<double>(*steps),
               " sent per rank and accumulation of " + Twine(*steps) + " steps");
  out << "\n";
}
