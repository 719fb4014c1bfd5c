//===- PlanPrinter.cpp - prints the plan of a step ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON for programs (`--plan`) has a stable order of keys; text for people (`--explain`) leaves out what is zero.
//
//===----------------------------------------------------------------------===//

#include "PlanPrinter.h"
#include "PlanBlocks.h"
#include "PlanSegments.h"
#include "PlanTimeline.h"
#include "PlanTotals.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Support/NeededTimes.h"
#include "meshwright/Support/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// `times` are all times of the mesh.
static void printConversion(llvm::json::OStream &json, const PlannedConversion &conversion, int64_t times) {
  json.object([&] {
    json.attribute("axes", llvm::json::Array(conversion.axes));
    json.attribute("bytes", conversion.bytes);
    json.attribute("dtype", conversion.dtype);
    json.attribute("elements", conversion.elements);
    json.attribute("group", conversion.group);
    json.attribute("kind", conversion.kind);
    json.attribute("location", conversion.location);
    if (conversion.nodes != 0)
      json.attribute("nodes", conversion.nodes);
    json.attribute("reason", conversion.reason);
    json.attribute("role", conversion.role);
    json.attribute("task", "step");
    if (times > 1 || conversion.times > 1)
      json.attribute("times", conversion.times);
    json.attribute("value", conversion.value);
  });
}

/// `hasSlices` says that variants differ in the slices of a step too.
static void printVariants(llvm::json::OStream &json, ArrayRef<PlannedVariant> variants, bool hasSlices) {
  json.attributeArray("variants", [&] {
    for (const PlannedVariant &variant : variants)
      json.object([&] {
        if (hasSlices)
          json.attribute("first_slice", variant.firstSlice);
        json.attribute("first_step", variant.firstStep);
        json.attribute("kernels", variant.numKernels);
        if (hasSlices)
          json.attribute("last_slice", variant.lastSlice);
        json.attribute("last_step", variant.lastStep);
        json.attribute("launches", variant.numLaunches);
        json.attribute("products", variant.numProducts);
        json.attribute("traffic_bytes", variant.trafficBytes);
        if (!variant.action.empty())
          json.attribute("action", variant.action);
      });
  });
}

static void printProgram(llvm::json::OStream &json, const Plan &plan, const PlannedProgram &program) {
  printBlocks(json, program.blocks);
  json.attributeArray("conversions", [&] {
    for (unsigned conversion : program.conversions)
      printConversion(json, plan.conversions[conversion], NeededTimes::count(plan.mesh));
  });
  if (!plan.segments.empty())
    printSegments(json, plan);
  json.attribute("first_rank", program.firstRank);
  json.attribute("flops", program.flops);
  if (program.peakBytes) {
    if (program.hostBytes > 0)
      json.attributeObject("host", [&] {
        json.attribute("arena_bytes", program.hostBytes);
        json.attribute("fetched_bytes", program.copiedFromHost);
        json.attribute("live_bytes", program.offloadedBytes);
        json.attribute("written_back_bytes", program.copiedToHost);
      });
    json.attribute("kernels", program.numKernels);
    // Conversions are counted apart: several may be one launch.
    json.attribute("launches", countLaunches(program.timeline));
    json.attributeArray("live_at_peak", [&] {
      for (const PlannedValue &value : program.liveAtPeak)
        json.object([&] {
          json.attribute("bytes", value.bytes);
          json.attribute("value", value.name);
        });
    });
    json.attribute("live_bytes", program.liveBytes);
    json.attributeObject("memory", [&] {
      if (getAccumulatedSteps(plan))
        json.attribute("accumulators", program.accumulatorBytes);
      json.attribute("fetched", program.fetchedBytes);
      json.attribute("gradients", program.gradientBytes);
      json.attribute("kept_for_backward", sumBlocks(program.blocks).keptBytes);
      json.attribute("optimizer_state", program.stateBytes);
      json.attribute("parameters", program.parameterBytes);
    });
    json.attribute("peak_bytes", *program.peakBytes);
    json.attribute("persistent_bytes", *program.persistentBytes);
    json.attribute("products", program.numProducts);
  }
  json.attribute("ranks", program.numRanks);
  json.attribute("recompute_flops", sumBlocks(program.blocks).recomputeFlops);
  if (!plan.segments.empty())
    json.attributeArray("segments", [&] {
      for (const PlannedSegment &segment : plan.segments)
        json.object([&] {
          json.attribute("first", segment.first);
          json.attribute("last", segment.last);
          json.attribute("live_bytes", segment.liveBytes);
          json.attribute("role", segment.role);
          json.attribute("volume", segment.volume);
        });
    });
  if (program.peakBytes) {
    printTimeline(json, program.timeline);
    json.attribute("traffic_bytes", program.trafficBytes);
  }
  json.attribute("variable_bytes", program.variableBytes);
  if (!program.variants.empty())
    printVariants(json, program.variants, plan.mesh.find(AxisKind::Slices).has_value());
}

void meshwright::printJson(llvm::raw_ostream &out, const Plan &plan) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    if (plan.evaluationBytes)
      json.attributeObject("evaluation", [&] { json.attribute("peak_bytes", *plan.evaluationBytes); });
    json.attributeArray("mesh", [&] {
      for (Axis axis = 0; axis < plan.mesh.getNumRankAxes(); ++axis)
        json.object([&] {
          json.attribute("name", plan.mesh.getName(axis));
          json.attribute("size", plan.mesh.getSize(axis));
        });
    });
    if (plan.pipeline)
      json.attributeObject("pipeline", [&] { plan.pipeline->printJson(json); });
    json.attributeArray("programs", [&] {
      for (const PlannedProgram &program : plan.programs)
        json.object([&] { printProgram(json, plan, program); });
    });
    json.attribute("serial_flops", plan.serialFlops);
    json.attributeObject("totals", [&] { printTotals(json, plan); });
    json.attributeArray("variables", [&] {
      for (const PlannedVariable &variable : plan.variables)
        json.object([&] {
          json.attribute("bytes_per_rank", variable.bytesPerRank);
          json.attribute("dtype", variable.dtype);
          json.attribute("kind", variable.kind);
          json.attribute("name", variable.name);
          json.attribute("padding_bytes", variable.paddingBytes);
          json.attribute("placement", variable.placement);
          json.attribute("shape", llvm::json::Array(variable.shape));
        });
    });
  });
  out << "\n";
}

static void printProgram(llvm::raw_ostream &out, const Plan &plan, const PlannedProgram &program) {
  if (plan.programs.size() > 1)
    out << "program of rank " << program.firstRank << " and " << program.numRanks - 1 << " others, "
        << program.conversions.size() << " conversions\n";
  out << "variables: " << formatBytes(program.variableBytes) << " per rank\n";
  out << "operations: " << formatOperations(program.flops) << " per rank, " << formatOperations(plan.serialFlops)
      << " serial\n";
  if (!program.peakBytes)
    return;
  out << "arena: " << formatBytes(*program.peakBytes) << " per rank, " << formatBytes(*program.persistentBytes)
      << " of it persistent; " << formatBytes(program.liveBytes) << " live at the busiest moment:\n";
  for (const PlannedValue &value : ArrayRef(program.liveAtPeak).take_front(5))
    out << "    " << llvm::right_justify(formatBytes(value.bytes), kBytesWidth) << "  " << value.name << "\n";
  out << program.numKernels << " kernels and " << program.numProducts << " products read and write "
      << formatBytes(program.trafficBytes) << "\n";
  out << "parameters " << formatBytes(program.parameterBytes) << ", optimizer state " << formatBytes(program.stateBytes)
      << "; at most " << formatBytes(program.gradientBytes) << " of gradients and " << formatBytes(program.fetchedBytes)
      << " of fetched parameters at a time\n";
  if (program.hostBytes > 0)
    out << "host: " << formatBytes(program.hostBytes) << "; " << formatBytes(program.copiedFromHost)
        << " are fetched and " << formatBytes(program.copiedToHost) << " written back, at most "
        << formatBytes(program.offloadedBytes) << " of it are on the device at a time\n";
  printBlocks(out, program.blocks);
}

void meshwright::printText(llvm::raw_ostream &out, const Plan &plan) {
  out << "mesh:";
  for (Axis axis = 0; axis < plan.mesh.getNumRankAxes(); ++axis)
    out << " " << plan.mesh.getName(axis) << "=" << plan.mesh.getSize(axis);
  out << ", " << plan.mesh.getNumRanks() << " ranks, ";
  if (plan.programs.size() == 1)
    out << "one program\n\n";
  else
    out << plan.programs.size() << " programs\n\n";
  out << plan.variables.size() << " variables\n";
  for (const PlannedProgram &program : plan.programs)
    printProgram(out, plan, program);
  if (plan.evaluationBytes)
    out << "evaluation: in an arena of " << formatBytes(*plan.evaluationBytes)
        << ", which is that of the step as far as it goes\n";
  if (plan.pipeline)
    plan.pipeline->printText(out);
  printTotals(out, plan);
  printSegments(out, plan);
  // Programs issue the same lists.
  if (!plan.programs.empty())
    printTimeline(out, plan.programs.front().timeline);
  for (const PlannedConversion &conversion : plan.conversions) {
    out << conversion.kind << " over " << llvm::join(conversion.axes, ", ") << ", " << conversion.elements << " x "
        << conversion.dtype << ", " << formatBytes(conversion.bytes) << ": " << conversion.value;
    if (!conversion.role.empty())
      out << " (" << conversion.role << ")";
    if (int64_t times = NeededTimes::count(plan.mesh); conversion.times < times)
      out << ", at " << conversion.times << " of " << times << " times";
    else if (conversion.times > times)
      out << ", " << conversion.times << " times";
    out << " " << conversion.location << "\n    " << conversion.reason << "\n";
  }
}
