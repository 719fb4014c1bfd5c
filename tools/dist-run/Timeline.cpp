//===- Timeline.cpp - steps as a picture ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes planned and measured steps in the trace event format of Chrome, which Perfetto opens: a process per rank, a
// track per stream, and events one by one.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"
#include "meshwright/runtime/Json.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

namespace {

/// As in the track: `c_allgather #3 w`, `wait #3 w`, `dot`.
std::string getTitle(const StepSpan &span) {
  const Instruction &instruction = *span.instruction;
  if (instruction.has_wait())
    return fmt::format("wait #{} {}", instruction.wait().tag(), instruction.name());
  if (instruction.has_copy_wait() || (instruction.has_copy() && span.kind == StepSpan::Wait))
    return "wait " + instruction.name();
  if (span.kind == StepSpan::Fetch || span.kind == StepSpan::WriteBack)
    return fmt::format("{} {}", span.kind == StepSpan::Fetch ? "fetch" : "write back", instruction.name());
  if (!instruction.has_collective())
    return instruction.name();
  return fmt::format("{}{} #{} {}", span.kind == StepSpan::Wait ? "wait " : "",
                     runtime::getName(instruction.collective().kind()), instruction.collective().tag(),
                     instruction.name());
}

std::string_view getCategory(const StepSpan &span) {
  if (span.kind != StepSpan::Compute)
    return span.kind == StepSpan::Collective ? "collective" : span.kind == StepSpan::Wait ? "wait" : "copy";
  switch (span.instruction->kind_case()) {
  case Instruction::kKernel:
    return "kernel";
  case Instruction::kMatmul:
    return "product";
  case Instruction::kConvolution:
    return "convolution";
  default:
    return "copy";
  }
}

OrderedJson getArguments(const StepSpan &span) {
  const Instruction &instruction = *span.instruction;
  OrderedJson arguments = OrderedJson::object();
  arguments["task"] = span.task->name();
  arguments["micro_batch"] = span.microBatch;
  if (!instruction.location().empty())
    arguments["location"] = instruction.location();
  if (span.kind == StepSpan::Collective) {
    arguments["bytes"] = span.bytes;
    arguments["parts"] = OrderedJson::array();
    for (const CollectivePart &part : instruction.collective().parts())
      arguments["parts"].push_back(part.name());
    if (!instruction.collective().reason().empty())
      arguments["reason"] = instruction.collective().reason();
  } else if (span.kind == StepSpan::Fetch || span.kind == StepSpan::WriteBack) {
    arguments["bytes"] = span.bytes;
  } else if (span.kind == StepSpan::Compute) {
    arguments["bytes"] = instruction.traffic_bytes();
    arguments["flops"] = instruction.flops();
    if (instruction.has_kernel())
      arguments["kernel"] = instruction.kernel().symbol();
  }
  return arguments;
}

/// The tracks of a rank: computation by its first thread, communication, each direction of copies, then computation by
/// the other threads.
constexpr int kTracksOfRank = 4;

int getTrack(const StepSpan &span) {
  switch (span.kind) {
  case StepSpan::Collective:
    return 1;
  case StepSpan::Fetch:
    return 2;
  case StepSpan::WriteBack:
    return 3;
  default:
    return span.thread == 0 ? 0 : kTracksOfRank - 1 + static_cast<int>(span.thread);
  }
}

/// The steps that stand one after the other on the tracks of a set of processes, one process per rank.
struct Lane {
  /// The suffix of the processes' names after "rank 3": empty, `, measured`.
  std::string suffix;
  int64_t firstProcess = 0;
  /// Among the processes of a rank.
  int64_t place = 0;
};

/// Writes events one by one, so that a long run needs no memory.
class Writer {
public:
  Writer(OutputFile &file, int64_t numRanks) : file(file), numRanks(numRanks) {}

  Status writeProcesses(const Lane &lane, bool showsCopies, uint32_t numThreads) {
    for (int64_t rank = 0; rank != numRanks; ++rank) {
      int64_t process = lane.firstProcess + rank;
      MW_TRY(write(getName("process_name", process, 0, fmt::format("rank {}{}", rank, lane.suffix))));
      MW_TRY(write({{"name", "process_sort_index"},
                    {"ph", "M"},
                    {"pid", process},
                    {"args", {{"sort_index", 2 * rank + lane.place}}}}));
      MW_TRY(write(getName("thread_name", process, 0, "computation")));
      MW_TRY(write(getName("thread_name", process, 1, "communication")));
      if (showsCopies) {
        MW_TRY(write(getName("thread_name", process, 2, "from the host")));
        MW_TRY(write(getName("thread_name", process, 3, "to the host")));
      }
      for (uint32_t thread = 1; thread < numThreads; ++thread)
        MW_TRY(write(getName("thread_name", process, kTracksOfRank - 1 + static_cast<int>(thread),
                             fmt::format("computation, thread {}", thread))));
    }
    return {};
  }

  /// A step that begins at `offset`, in seconds; `name`, unless it is empty, stands above its pieces.
  Status writeStep(const Lane &lane, std::span<const StepSpan> spans, const std::string &name, double offset,
                   double seconds) {
    for (int64_t rank = 0; !name.empty() && rank != numRanks; ++rank)
      MW_TRY(write(getEvent(name, "step", lane, rank, 0, offset, seconds)));
    if (hasActions(spans))
      for (const PlannedTask &task : listTasks(spans))
        MW_TRY(write(getEvent(fmt::format("{} of micro-batch {}", task.task->name(), task.microBatch), "task", lane,
                              task.rank, 0, offset + task.begin, task.end - task.begin)));
    for (const StepSpan &span : spans) {
      OrderedJson event = getEvent(getTitle(span), getCategory(span), lane, span.rank, getTrack(span),
                                   offset + span.begin, span.end - span.begin);
      event["args"] = getArguments(span);
      MW_TRY(write(event));
      if (span.peer >= 0)
        MW_TRY(write(getArrow(lane, span, offset)));
    }
    return {};
  }

private:
  Status write(const OrderedJson &event) {
    MW_TRY(file.write(separator));
    separator = ",\n";
    return file.write(toText(event));
  }

  static OrderedJson getName(std::string_view what, int64_t process, int track, const std::string &name) {
    return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
  }

  static OrderedJson getEvent(const std::string &name, std::string_view category, const Lane &lane, int64_t rank,
                              int track, double begin, double seconds) {
    return {{"name", name},      {"cat", category},      {"ph", "X"},
            {"ts", begin * 1e6}, {"dur", seconds * 1e6}, {"pid", lane.firstProcess + rank},
            {"tid", track}};
  }

  /// One end of the arrow from who sends to who gets it. Steps are told apart by where they begin.
  static OrderedJson getArrow(const Lane &lane, const StepSpan &span, double offset) {
    bool sends = span.instruction->collective().parts(0).has_in();
    int64_t from = sends ? span.rank : span.peer, to = sends ? span.peer : span.rank;
    OrderedJson arrow = {{"name", "send"},
                         {"cat", "send"},
                         {"ph", sends ? "s" : "f"},
                         {"id", fmt::format("{} {} {} {} {}", lane.firstProcess + from, to,
                                            span.instruction->collective().tag(), span.microBatch, offset)},
                         {"ts", (offset + span.begin) * 1e6},
                         {"pid", lane.firstProcess + span.rank},
                         {"tid", getTrack(span)}};
    if (!sends)
      arrow["bp"] = "e";
    return arrow;
  }

  OutputFile &file;
  int64_t numRanks;
  std::string_view separator = "\n";
};

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

/// The figures of a step, or of each variant of it.
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

bool hasCopies(std::span<const StepSpan> spans) {
  return std::any_of(spans.begin(), spans.end(), [](const StepSpan &span) {
    return span.kind == StepSpan::Fetch || span.kind == StepSpan::WriteBack;
  });
}

/// The most threads of a rank that are at work at once.
uint32_t getNumThreads(const std::vector<TracedStep> &traced) {
  uint32_t numThreads = 1;
  for (const TracedStep &step : traced)
    for (const StepSpan &span : step.trace.spans)
      numThreads = std::max(numThreads, span.numThreads);
  return numThreads;
}

Status writePlans(Writer &writer, const Lane &lane, const std::vector<PlannedVariant> &plans) {
  MW_TRY(writer.writeProcesses(lane,
                               std::any_of(plans.begin(), plans.end(),
                                           [](const PlannedVariant &planned) { return hasCopies(planned.plan.spans); }),
                               1));
  double offset = 0;
  for (const PlannedVariant &planned : plans) {
    std::string name = plans.size() == 1 ? "" : describe(planned.variant, plans.back().variant.end);
    MW_TRY(writer.writeStep(lane, planned.plan.spans, name, offset, planned.plan.seconds));
    offset += planned.plan.seconds;
  }
  return {};
}

Status writeTraces(Writer &writer, const Lane &lane, const std::vector<TracedStep> &traced) {
  MW_TRY(writer.writeProcesses(
      lane,
      std::any_of(traced.begin(), traced.end(), [](const TracedStep &step) { return hasCopies(step.trace.spans); }),
      getNumThreads(traced)));
  double offset = 0;
  for (const TracedStep &step : traced) {
    MW_TRY(writer.writeStep(lane, step.trace.spans, fmt::format("step {}", step.step), offset, step.trace.seconds));
    offset += step.trace.seconds;
  }
  return {};
}

} // namespace

Result<OutputFile> meshwright::tool::writeTimeline(const std::string &path, const std::vector<PlannedVariant> &plans,
                                                   const std::vector<TracedStep> &traced, int64_t numRanks) {
  MW_TRY_ASSIGN(OutputFile file, OutputFile::create(path));
  OrderedJson figures = plans.empty() ? OrderedJson::object() : getFigures(plans);
  MW_TRY(file.write("{\"displayTimeUnit\":\"ms\",\"otherData\":" + toText(figures) + ",\"traceEvents\":["));
  Writer writer(file, numRanks);
  if (!plans.empty())
    MW_TRY(writePlans(writer, {traced.empty() ? "" : ", planned"}, plans));
  if (!traced.empty())
    MW_TRY(writeTraces(writer, {plans.empty() ? "" : ", measured", plans.empty() ? 0 : numRanks, 1}, traced));
  MW_TRY(file.write("\n]}\n"));
  return file;
}
