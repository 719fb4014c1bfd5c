//===- StepTrace.cpp - a step as it went ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the times that devices and communicators took during one step, translates them to instructions, and sends
// them to the first process in times of the system's clock.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/StepTrace.h"
#include <algorithm>
#include <cstring>
#include <optional>

using namespace meshwright;
using namespace meshwright::runtime;

double meshwright::runtime::getSentBytes(const Collective &collective, const Mesh &mesh, int64_t rank) {
  uint64_t members = getMembers(collective, mesh, rank).size();
  double bytes = 0;
  for (const CollectivePart &part : collective.parts())
    bytes += getSentBytes(collective.kind(), members, part.count() * getSize(collective.dtype()));
  return bytes;
}

int64_t meshwright::runtime::getPeer(const Collective &collective, const Mesh &mesh, int64_t rank) {
  if (collective.kind() != Collective::SEND)
    return -1;
  std::vector<int64_t> ends = getMembers(collective, mesh, rank);
  return ends[0] == rank ? ends[1] : ends[0];
}

namespace {

/// A span as processes tell it to the first one: instructions by their places, times of the system's clock.
struct PackedSpan {
  int64_t rank, begin, end;
  uint32_t item, number, kind, thread, numThreads, reserved;
};

/// The direction of a copy between the memories; nothing of anything else.
std::optional<StepSpan::Kind> getCopyKind(const Program &program, const Instruction &instruction) {
  if (!instruction.has_copy())
    return std::nullopt;
  Memory to = program.buffers(static_cast<int>(instruction.copy().to())).memory();
  if (program.buffers(static_cast<int>(instruction.copy().from())).memory() == to)
    return std::nullopt;
  return to == HOST ? StepSpan::WriteBack : StepSpan::Fetch;
}

/// The kind of span of the rank's thread in an instruction; none where the event of interest runs beside it.
std::optional<StepSpan::Kind> getKind(const Program &program, const Instruction &instruction) {
  switch (instruction.kind_case()) {
  case Instruction::kCollective:
    return instruction.collective().start() ? std::nullopt : std::optional(StepSpan::Wait);
  case Instruction::kWait:
  case Instruction::kCopyWait:
    return StepSpan::Wait;
  case Instruction::kCopy:
    if (std::optional<StepSpan::Kind> kind = getCopyKind(program, instruction))
      return instruction.copy().start() ? std::nullopt : kind;
    return StepSpan::Compute;
  case Instruction::kKernel:
  case Instruction::kMatmul:
  case Instruction::kConvolution:
    return StepSpan::Compute;
  default:
    return std::nullopt;
  }
}

/// Turns the places of a session's ranks into what they are, and back.
class Tracer {
public:
  explicit Tracer(const Session &session) : session(session) {}

  const Program &getProgram(int64_t rank) const { return session.getProgram(rank); }
  const Task &getTask(int64_t rank, uint32_t item) const {
    const Program &program = getProgram(rank);
    return program.tasks(static_cast<int>(program.schedule(static_cast<int>(item)).task()));
  }

  void pack(int64_t rank, const RankTrace &trace, std::vector<PackedSpan> &spans) const {
    size_t numCollectives = 0, numCopies = 0;
    for (const RankTrace::Entry &entry : trace.entries) {
      const Instruction &instruction = getTask(rank, entry.item).instructions(static_cast<int>(entry.number));
      auto add = [&](StepSpan::Kind kind, TimeRange time) {
        spans.push_back({rank, time.begin, time.end, entry.item, entry.number, static_cast<uint32_t>(kind),
                         entry.thread, entry.numThreads, 0});
      };
      std::optional<StepSpan::Kind> copy = getCopyKind(getProgram(rank), instruction);
      if (copy && !trace.copies.empty()) {
        add(*copy, trace.copies[numCopies++]);
        if (!instruction.copy().start())
          add(StepSpan::Wait, entry.time);
      } else if (std::optional<StepSpan::Kind> kind = getKind(getProgram(rank), instruction)) {
        add(*kind, entry.time);
      }
      if (instruction.has_collective() && numCollectives != trace.collectives.size())
        add(StepSpan::Collective, trace.collectives[numCollectives++]);
    }
  }

  Result<StepSpan> unpack(const PackedSpan &packed, int64_t begin) const {
    if (packed.rank < 0 || packed.rank >= session.getNumRanks() ||
        packed.item >= static_cast<uint32_t>(getProgram(packed.rank).schedule_size()) ||
        packed.number >= static_cast<uint32_t>(getTask(packed.rank, packed.item).instructions_size()) ||
        packed.kind > StepSpan::WriteBack || packed.thread >= packed.numThreads)
      return faultError("a process sent a span of rank {} that its program does not have", packed.rank);
    const ScheduleItem &item = getProgram(packed.rank).schedule(static_cast<int>(packed.item));
    const Task &task = getTask(packed.rank, packed.item);
    const Instruction &instruction = task.instructions(static_cast<int>(packed.number));
    StepSpan span{static_cast<StepSpan::Kind>(packed.kind),
                  packed.rank,
                  &instruction,
                  &task,
                  item.micro_batch(),
                  static_cast<double>(packed.begin - begin) * 1e-9,
                  static_cast<double>(packed.end - begin) * 1e-9};
    span.thread = packed.thread;
    span.numThreads = packed.numThreads;
    if (span.kind == StepSpan::Collective) {
      span.bytes = getSentBytes(instruction.collective(), session.getMesh(), packed.rank);
      span.peer = getPeer(instruction.collective(), session.getMesh(), packed.rank);
    } else if (span.kind == StepSpan::Fetch || span.kind == StepSpan::WriteBack) {
      span.bytes = static_cast<double>(
          getArrayBytes(getProgram(packed.rank).buffers(static_cast<int>(instruction.copy().to()))));
    }
    return span;
  }

private:
  const Session &session;
};

/// The system clock's lead over the steady one.
int64_t getClockOffset() {
  using namespace std::chrono;
  int64_t system = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  return system - TimeRange::now();
}

} // namespace

Result<StepTrace> meshwright::runtime::traceStep(Session &session) {
  MW_TRY_ASSIGN(std::vector<RankTrace> traces, session.traceStep());
  Tracer tracer(session);
  std::vector<PackedSpan> mine;
  for (size_t i = 0; i != traces.size(); ++i)
    tracer.pack(session.getRanks().begin + static_cast<int64_t>(i), traces[i], mine);
  int64_t offset = getClockOffset();
  for (PackedSpan &span : mine) {
    span.begin += offset;
    span.end += offset;
  }
  MW_TRY_ASSIGN(std::vector<Bytes> all, session.getWorld().gather(std::as_bytes(std::span(mine))));
  std::vector<PackedSpan> packed;
  for (const Bytes &bytes : all)
    for (size_t at = 0; at + sizeof(PackedSpan) <= bytes.size(); at += sizeof(PackedSpan))
      std::memcpy(&packed.emplace_back(), bytes.data() + at, sizeof(PackedSpan));
  StepTrace trace;
  if (packed.empty())
    return trace;
  auto isEarlier = [](const PackedSpan &a, const PackedSpan &b) { return a.begin < b.begin; };
  int64_t begin = std::min_element(packed.begin(), packed.end(), isEarlier)->begin;
  for (const PackedSpan &span : packed) {
    MW_TRY_ASSIGN(StepSpan made, tracer.unpack(span, begin));
    trace.seconds = std::max(trace.seconds, made.end);
    trace.spans.push_back(made);
  }
  return trace;
}
