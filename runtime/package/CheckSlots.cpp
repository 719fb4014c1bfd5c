//===- CheckSlots.cpp - whether slots have what is read from them ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the order of a step and remembers for every byte which micro-batch wrote it: what a buffer with slots has in
// a task was written for the task's own micro-batch. The bytes are kept as intervals; a write makes at most two, and
// those that a read has found alike become one, so that the cost is n log n of the accesses.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "meshwright/runtime/Slots.h"

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// The micro-batch that wrote each range of bytes last.
class Writers {
public:
  using Writer = std::optional<uint32_t>;

  void write(uint64_t begin, uint64_t end, Writer writer) {
    if (begin == end)
      return;
    cut(begin);
    cut(end);
    intervals.erase(intervals.lower_bound(begin), intervals.lower_bound(end));
    intervals[begin] = writer;
  }

  /// A writer of some of the bytes that is not the wanted one, if there is any.
  std::optional<Writer> findOther(uint64_t begin, uint64_t end, uint32_t wanted) {
    if (begin == end)
      return std::nullopt;
    cut(begin);
    cut(end);
    auto first = intervals.find(begin), last = intervals.lower_bound(end);
    for (auto interval = first; interval != last; ++interval)
      if (interval->second != Writer(wanted))
        return interval->second;
    intervals.erase(std::next(first), last);
    return std::nullopt;
  }

private:
  /// Lets an interval begin there.
  void cut(uint64_t at) { intervals.emplace(at, std::prev(intervals.upper_bound(at))->second); }

  /// By where they begin; each ends where the next one does.
  std::map<uint64_t, Writer> intervals = {{0, std::nullopt}};
};

class SlotChecker {
public:
  explicit SlotChecker(const Program &program) : program(program) {}

  Status check(uint32_t position) {
    for (const ScheduleItem &item : program.schedule()) {
      if (!runsAt(item, position))
        continue;
      const Task &task = program.tasks(static_cast<int>(item.task()));
      microBatch = item.micro_batch();
      for (int i = 0; i != task.instructions_size(); ++i)
        MW_TRY(visit(task.instructions(i)).within(describeInstruction(task, i)));
    }
    return {};
  }

private:
  Status visit(const Instruction &instruction) {
    std::vector<uint32_t> written;
    Status status;
    forEachAccess(instruction, [&](uint32_t buffer, bool isWrite) {
      if (isWrite)
        written.push_back(buffer);
      else if (status.ok())
        status = read(buffer);
    });
    for (uint32_t buffer : written)
      write(buffer);
    return status;
  }

  Status read(uint32_t index) {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    if (buffer.slots() == 0)
      return {};
    uint64_t begin = getOffset(buffer, microBatch);
    auto other = writers.findOther(begin, begin + buffer.bytes(), microBatch);
    if (!other)
      return {};
    return inputError("buffer {} is read for micro-batch {}, but its slot has {}", index, microBatch,
                      *other ? fmt::format("what was written for micro-batch {}", **other) : "nothing of one");
  }

  /// A buffer without slots belongs to no micro-batch.
  void write(uint32_t index) {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    if (buffer.memory() == HOST)
      return;
    uint64_t begin = getOffset(buffer, microBatch);
    writers.write(begin, begin + buffer.bytes(), buffer.slots() == 0 ? std::nullopt : std::optional(microBatch));
  }

  const Program &program;
  Writers writers;
  /// The micro-batch of the task that is followed.
  uint32_t microBatch = 0;
};

} // namespace

Status meshwright::runtime::checkSlots(const Program &program, uint32_t position) {
  for (const Buffer &buffer : program.buffers())
    if (buffer.slots() != 0)
      return SlotChecker(program).check(position);
  return {};
}
