//===- Timeline.cpp - the planned step as a picture -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"
#include "lib/Json.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

namespace {

/// As in the track: `c_allgather #3 w`, `wait #3 w`, `dot`.
std::string getTitle(const PlannedSpan &span) {
  const Instruction &instruction = *span.instruction;
  if (instruction.has_wait())
    return fmt::format("wait #{} {}", instruction.wait().tag(), instruction.name());
  if (instruction.has_copy_wait())
    return "wait " + instruction.name();
  if (span.kind == PlannedSpan::Fetch || span.kind == PlannedSpan::WriteBack)
    return fmt::format("{} {}", span.kind == PlannedSpan::Fetch ? "fetch" : "write back", instruction.name());
  if (!instruction.has_collective())
    return instruction.name();
  return fmt::format("{}{} #{} {}", span.kind == PlannedSpan::Wait ? "wait " : "",
                     runtime::getName(instruction.collective().kind()), instruction.collective().tag(),
                     instruction.name());
}

std::string_view getCategory(const PlannedSpan &span) {
  if (span.kind != PlannedSpan::Compute)
    return span.kind == PlannedSpan::Collective ? "collective" : span.kind == PlannedSpan::Wait ? "wait" : "copy";
  switch (span.instruction->kind_case()) {
  case Instruction::kKernel:
    return "kernel";
  case Instruction::kMatmul:
    return "product";
  default:
    return "copy";
  }
}

OrderedJson getArguments(const PlannedSpan &span) {
  const Instruction &instruction = *span.instruction;
  OrderedJson arguments = OrderedJson::object();
  arguments["task"] = span.task->name();
  arguments["micro_batch"] = span.microBatch;
  if (!instruction.location().empty())
    arguments["location"] = instruction.location();
  if (span.kind == PlannedSpan::Collective) {
    arguments["bytes"] = span.bytes;
    arguments["parts"] = OrderedJson::array();
    for (const CollectivePart &part : instruction.collective().parts())
      arguments["parts"].push_back(part.name());
    if (!instruction.collective().reason().empty())
      arguments["reason"] = instruction.collective().reason();
  } else if (span.kind == PlannedSpan::Fetch || span.kind == PlannedSpan::WriteBack) {
    arguments["bytes"] = span.bytes;
  } else if (span.kind == PlannedSpan::Compute) {
    arguments["bytes"] = instruction.traffic_bytes();
    arguments["flops"] = instruction.flops();
    if (instruction.has_kernel())
      arguments["kernel"] = instruction.kernel().symbol();
  }
  return arguments;
}

/// Computation, communication, and each direction of copies have a track.
int getTrack(const PlannedSpan &span) {
  switch (span.kind) {
  case PlannedSpan::Collective:
    return 1;
  case PlannedSpan::Fetch:
    return 2;
  case PlannedSpan::WriteBack:
    return 3;
  default:
    return 0;
  }
}

OrderedJson getName(std::string_view what, int64_t rank, int track, const std::string &name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", track}, {"args", {{"name", name}}}};
}

OrderedJson getEvent(const PlannedSpan &span, double offset) {
  return {{"name", getTitle(span)},
          {"cat", getCategory(span)},
          {"ph", "X"},
          {"ts", (offset + span.begin) * 1e6},
          {"dur", (span.end - span.begin) * 1e6},
          {"pid", span.rank},
          {"tid", getTrack(span)},
          {"args", getArguments(span)}};
}

/// Above its pieces a task, where a step has several works.
OrderedJson getEvent(const PlannedTask &planned, double offset) {
  return {{"name", fmt::format("{} of micro-batch {}", planned.task->name(), planned.microBatch)},
          {"cat", "task"},
          {"ph", "X"},
          {"ts", (offset + planned.begin) * 1e6},
          {"dur", (planned.end - planned.begin) * 1e6},
          {"pid", planned.rank},
          {"tid", 0}};
}

/// One end of the arrow from who sends to who gets it.
OrderedJson getArrow(const PlannedSpan &span, double offset) {
  bool sends = span.instruction->collective().parts(0).has_in();
  int64_t from = sends ? span.rank : span.peer, to = sends ? span.peer : span.rank;
  OrderedJson arrow = {
      {"name", "send"},
      {"cat", "send"},
      {"ph", sends ? "s" : "f"},
      {"id", fmt::format("{} {} {} {}", from, to, span.instruction->collective().tag(), span.microBatch)},
      {"ts", (offset + span.begin) * 1e6},
      {"pid", span.rank},
      {"tid", getTrack(span)}};
  if (!sends)
    arrow["bp"] = "e";
  return arrow;
}

/// What stands above the pieces of a variant.
OrderedJson getEvent(const PlannedVariant &planned, uint32_t mergeSteps, double offset, int64_t rank) {
  return {{"name", describe(planned.variant, mergeSteps)},
          {"cat", "step"},
          {"ph", "X"},
          {"ts", offset * 1e6},
          {"dur", planned.plan.seconds * 1e6},
          {"pid", rank},
          {"tid", 0}};
}

OrderedJson getFigures(const PlannedVariant &planned) {
  OrderedJson figures = {{"planned_seconds", planned.plan.seconds},
                         {"planned_compute_seconds", planned.plan.computeSeconds},
                         {"planned_communication_seconds", planned.plan.communicationSeconds},
                         {"planned_exposed_seconds", planned.plan.exposedSeconds}};
  if (planned.plan.copySeconds > 0)
    figures["planned_copy_seconds"] = planned.plan.copySeconds;
  if (std::optional<double> measured = planned.getMeasured())
    figures["measured_seconds"] = *measured;
  return figures;
}

/// Of one step, or of the variants of one.
OrderedJson getFigures(const std::vector<PlannedVariant> &plans) {
  if (plans.size() == 1)
    return getFigures(plans[0]);
  OrderedJson variants = OrderedJson::array();
  for (const PlannedVariant &planned : plans) {
    OrderedJson entry = {{"first_step", planned.variant.begin}, {"end_step", planned.variant.end}};
    entry.update(getFigures(planned));
    variants.push_back(std::move(entry));
  }
  return {{"variants", std::move(variants)}};
}

} // namespace

Result<OutputFile> meshwright::tool::writeTimeline(const std::string &path, const std::vector<PlannedVariant> &plans,
                                                   int64_t numRanks) {
  MW_TRY_ASSIGN(OutputFile file, OutputFile::create(path));
  MW_TRY(file.write("{\"displayTimeUnit\":\"ms\",\"otherData\":" + toText(getFigures(plans)) + ",\"traceEvents\":["));
  std::string_view separator = "\n";
  auto hasCopies = [](const PlannedVariant &planned) { return planned.plan.copySeconds > 0; };
  bool showsCopies = std::any_of(plans.begin(), plans.end(), hasCopies);
  auto write = [&](const OrderedJson &event) -> Status {
    MW_TRY(file.write(separator));
    separator = ",\n";
    return file.write(toText(event));
  };
  for (int64_t rank = 0; rank != numRanks; ++rank) {
    MW_TRY(write(getName("process_name", rank, 0, fmt::format("rank {}", rank))));
    MW_TRY(write(getName("thread_name", rank, 0, "computation")));
    MW_TRY(write(getName("thread_name", rank, 1, "communication")));
    if (showsCopies) {
      MW_TRY(write(getName("thread_name", rank, 2, "from the host")));
      MW_TRY(write(getName("thread_name", rank, 3, "to the host")));
    }
  }
  double offset = 0;
  for (const PlannedVariant &planned : plans) {
    for (int64_t rank = 0; plans.size() != 1 && rank != numRanks; ++rank)
      MW_TRY(write(getEvent(planned, plans.back().variant.end, offset, rank)));
    if (hasWorks(planned.plan))
      for (const PlannedTask &task : listTasks(planned.plan))
        MW_TRY(write(getEvent(task, offset)));
    for (const PlannedSpan &span : planned.plan.spans) {
      MW_TRY(write(getEvent(span, offset)));
      if (span.peer >= 0)
        MW_TRY(write(getArrow(span, offset)));
    }
    offset += planned.plan.seconds;
  }
  MW_TRY(file.write("\n]}\n"));
  return file;
}
