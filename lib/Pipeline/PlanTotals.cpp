//===- PlanTotals.cpp - sums a step's conversions by kind -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "meshwright/Support/Units.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

std::map<std::string, Plan::Total> Plan::getTotals() const {
  std::map<std::string, Total> totals;
  for (const PlannedConversion &conversion : conversions) {
    Total &total = totals[conversion.kind];
    ++total.count;
    // The mean over all ranks of the mesh: groups that take no part send nothing.
    double groups = static_cast<double>(conversion.ranks) / static_cast<double>(conversion.participants);
    double bytes = conversion.bytes * static_cast<double>(conversion.group) * groups /
                   static_cast<double>(mesh.getNumRanks()) * static_cast<double>(conversion.times) /
                   static_cast<double>(getAccumulatedSteps().value_or(1));
    total.bytes += bytes;
    total.bytesBetweenNodes += conversion.nodes > 1 ? bytes : 0;
  }
  return totals;
}

/// Over how many steps gradients are accumulated, where they are.
std::optional<int64_t> Plan::getAccumulatedSteps() const {
  std::optional<Axis> axis = mesh.find(AxisKind::Steps);
  return axis ? std::optional(mesh.getSize(*axis)) : std::nullopt;
}

/// True if the strategy states the size of a node.
bool Plan::hasNodes() const { return !conversions.empty() && conversions.front().nodes != 0; }

void Plan::printTotals(llvm::json::OStream &json) const {
  double bytes = 0, betweenNodes = 0;
  int64_t count = 0, countOfMerge = 0;
  json.attributeObject("by_kind", [&] {
    for (const auto &[kind, total] : getTotals())
      json.attributeObject(kind, [&, kind = kind, total = total] {
        json.attribute("bytes", total.bytes);
        if (hasNodes())
          json.attribute("bytes_between_nodes", total.bytesBetweenNodes);
        json.attribute("count", total.count);
        bytes += total.bytes;
        betweenNodes += total.bytesBetweenNodes;
        count += total.count;
      });
  });
  json.attribute("bytes", bytes);
  if (hasNodes())
    json.attribute("bytes_between_nodes", betweenNodes);
  json.attribute("conversions", count);
  std::optional<int64_t> steps = getAccumulatedSteps();
  if (!steps)
    return;
  for (const PlannedConversion &conversion : conversions)
    countOfMerge += conversion.times;
  json.attributeObject("accumulation", [&] {
    json.attribute("bytes", bytes * static_cast<double>(*steps));
    json.attribute("conversions", countOfMerge);
    json.attribute("steps", *steps);
  });
}

/// A line of the table: a kind of conversion, how many there are, their bytes, and words after these.
static void printTotal(llvm::raw_ostream &out, StringRef kind, std::optional<size_t> count, double bytes,
                       const Twine &after = "") {
  out << llvm::left_justify(kind, 16) << llvm::right_justify(count ? std::to_string(*count) : "", 6) << "  "
      << llvm::right_justify(formatBytes(bytes), kBytesWidth) << after << "\n";
}

void Plan::printTotals(llvm::raw_ostream &out) const {
  double bytes = 0, betweenNodes = 0;
  for (const auto &[kind, total] : getTotals()) {
    printTotal(out, kind, total.count, total.bytes);
    bytes += total.bytes;
    betweenNodes += total.bytesBetweenNodes;
  }
  printTotal(out, "total", conversions.size(), bytes, " sent per rank and step");
  if (hasNodes())
    printTotal(out, "", std::nullopt, betweenNodes, " of it in groups of several nodes");
  if (std::optional<int64_t> steps = getAccumulatedSteps())
    printTotal(out, "", std::nullopt, bytes * static_cast<double>(*steps),
               " sent per rank and accumulation of " + Twine(*steps) + " steps");
  out << "\n";
}
