//===- CheckInFlight.cpp - buffers of asynchronous operations stay alone --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the order of a step. The ends of all slots cut the arenas, one after the other, into pieces; a tree over
// the pieces counts, for any range, the starts in flight that touch it. Each instruction costs the logarithm of the
// number of buffers. Collectives take place in their order, so that one may take what another has in flight; copies are
// in no order with them.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "meshwright/runtime/CollectiveTags.h"
#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>
#include <deque>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Counts over ranges of pieces: add to a range, ask for the largest in a range.
class RangeCounts {
public:
  explicit RangeCounts(size_t pieces) : pieces(pieces), added(4 * pieces + 4), largest(4 * pieces + 4) {}

  void add(size_t begin, size_t end, int value) {
    if (begin < end)
      add(1, 0, pieces, begin, end, value);
  }
  bool any(size_t begin, size_t end) const { return begin < end && get(1, 0, pieces, begin, end) > 0; }

private:
  void add(size_t node, size_t low, size_t high, size_t begin, size_t end, int value) {
    if (end <= low || high <= begin)
      return;
    if (begin <= low && high <= end) {
      added[node] += value;
      largest[node] += value;
      return;
    }
    size_t middle = (low + high) / 2;
    add(2 * node, low, middle, begin, end, value);
    add(2 * node + 1, middle, high, begin, end, value);
    largest[node] = added[node] + std::max(largest[2 * node], largest[2 * node + 1]);
  }
  int get(size_t node, size_t low, size_t high, size_t begin, size_t end) const {
    if (end <= low || high <= begin)
      return 0;
    if (begin <= low && high <= end)
      return largest[node];
    size_t middle = (low + high) / 2;
    return added[node] + std::max(get(2 * node, low, middle, begin, end), get(2 * node + 1, middle, high, begin, end));
  }

  size_t pieces;
  /// By node: the count added to its whole range, and the largest count inside the range.
  std::vector<int> added, largest;
};

/// The ranges that starts of one kind in flight read and write.
struct Accesses {
  explicit Accesses(size_t pieces) : reads(pieces), writes(pieces) {}
  RangeCounts reads, writes;
};

class InFlightChecker {
public:
  InFlightChecker(const Program &program, uint32_t microBatches)
      : program(program), microBatches(microBatches), tags(program), ends(getEnds(program)), moved(ends.size()),
        copied(ends.size()) {}

  Status check(uint32_t position) {
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &item) {
      if (instruction.has_wait())
        waited.insert({*tags.findWaited(item.task(), instruction.wait().tag()), item.micro_batch()});
    });
    for (const ScheduleItem &item : program.schedule())
      if (runsAt(item, position))
        MW_TRY(runTask(item));
    if (inFlight.empty())
      return {};
    const Start &start = inFlight.begin()->second;
    return inputError("{} is started and never waited for", describe(start));
  }

private:
  /// A collective that is under way.
  struct Start {
    const Collective *collective;
    /// By which a Wait knows it: its flight and its micro-batch.
    std::pair<uint32_t, uint32_t> name;
    uint32_t period;
    uint32_t microBatch() const { return name.second; }
  };

  /// Places in the host's arena are numbered after those of the device's.
  static uint64_t getBegin(const Program &program, const Buffer &buffer, uint32_t microBatch) {
    return getOffset(buffer, microBatch) + (buffer.memory() == HOST ? program.arena_bytes() : 0);
  }

  static std::vector<uint64_t> getEnds(const Program &program) {
    std::vector<uint64_t> ends;
    for (const Buffer &buffer : program.buffers())
      for (uint32_t slot = 0; slot != getSlots(buffer); ++slot) {
        ends.push_back(getBegin(program, buffer, slot));
        ends.push_back(ends.back() + buffer.bytes());
      }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  std::string describe(const Start &start) const {
    return fmt::format("{} #{}{}", getName(start.collective->kind()), start.collective->tag(),
                       microBatches == 1 ? "" : fmt::format(" of micro-batch {}", start.microBatch()));
  }

  static std::string describe(const Copy &copy) { return fmt::format("copy #{}", copy.tag()); }

  Status runTask(const ScheduleItem &item) {
    const Task &task = program.tasks(static_cast<int>(item.task()));
    microBatch = item.micro_batch();
    std::string when = microBatches == 1 ? "" : fmt::format("micro-batch {}", microBatch);
    for (int i = 0; i != task.instructions_size(); ++i)
      if (Status status = visit(task.instructions(i), item.task()); !status.ok()) {
        status = status.within(describeInstruction(task, i));
        return when.empty() ? status : status.within(when);
      }
    if (!copies.empty())
      return inputError("{} is started and not waited for in its task", describe(*copies.begin()->second));
    return {};
  }

  Status visit(const Instruction &instruction, uint32_t task) {
    switch (instruction.kind_case()) {
    case Instruction::kKernel:
    case Instruction::kMatmul:
    case Instruction::kConvolution:
    case Instruction::kCoordinate:
    case Instruction::kMicroBatch:
      return touchAll(instruction);
    case Instruction::kCopy:
      MW_TRY(touchAll(instruction));
      if (instruction.copy().start()) {
        copies.emplace(instruction.copy().tag(), &instruction.copy());
        count(instruction.copy(), 1);
      }
      return {};
    case Instruction::kCopyWait:
      return waitForCopy(instruction.copy_wait().tag());
    case Instruction::kCollective:
      MW_TRY(checkCopied(instruction.collective()));
      if (instruction.collective().start())
        return issue(instruction, task);
      finishBefore(issued);
      return {};
    default:
      return wait(task, instruction.wait().tag());
    }
  }

  /// A collective that is in flight in some of its slots may be started in other slots.
  Status issue(const Instruction &instruction, uint32_t task) {
    const Collective &collective = instruction.collective();
    uint32_t period = getPeriod(program, instruction, microBatches);
    Start start{&collective, {tags.getStarted(task, collective.tag()), microBatch}, period};
    if (!places.insert({&collective, microBatch % period}).second)
      return inputError("{} is started again before it was waited for{}", describe(start),
                        period == 1 ? "" : fmt::format(" in one of its {} slots", period));
    numbers.emplace(start.name, issued);
    inFlight.emplace(issued, start);
    if (!waited.contains(start.name))
      unwaited.push_back(issued);
    count(start, 1);
    ++issued;
    return {};
  }

  Status waitForCopy(uint32_t tag) {
    auto copy = copies.find(tag);
    if (copy == copies.end())
      return inputError("copy #{} is waited for and not in flight", tag);
    count(*copy->second, -1);
    copies.erase(copy);
    return {};
  }

  Status wait(uint32_t task, uint32_t tag) {
    auto number = numbers.find({*tags.findWaited(task, tag), microBatch});
    if (number == numbers.end())
      return inputError("collective #{} is waited for and not in flight", tag);
    uint64_t which = number->second;
    finish(which);
    finishBefore(which);
    return {};
  }

  /// Ends the starts before a number that have no Wait of their own.
  void finishBefore(uint64_t number) {
    for (; !unwaited.empty() && unwaited.front() < number; unwaited.pop_front())
      finish(unwaited.front());
  }

  void finish(uint64_t number) {
    auto found = inFlight.find(number);
    count(found->second, -1);
    numbers.erase(found->second.name);
    places.erase({found->second.collective, found->second.microBatch() % found->second.period});
    inFlight.erase(found);
  }

  void count(const Start &start, int value) {
    for (const CollectivePart &part : start.collective->parts()) {
      if (part.has_in())
        addTo(moved.reads, getPieces(part.in(), start.microBatch()), value);
      if (part.has_out())
        addTo(moved.writes, getPieces(part.out(), start.microBatch()), value);
    }
  }
  /// Copies are over with the task that starts them.
  void count(const Copy &copy, int value) {
    addTo(copied.reads, getPieces(copy.from(), microBatch), value);
    addTo(copied.writes, getPieces(copy.to(), microBatch), value);
  }
  static void addTo(RangeCounts &counts, std::pair<size_t, size_t> pieces, int value) {
    counts.add(pieces.first, pieces.second, value);
  }

  /// The pieces that the buffer covers in a task for that micro-batch.
  std::pair<size_t, size_t> getPieces(uint32_t index, uint32_t microBatch) const {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    auto find = [&](uint64_t at) {
      return static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), at) - ends.begin());
    };
    uint64_t begin = getBegin(program, buffer, microBatch);
    return {find(begin), find(begin + buffer.bytes())};
  }

  Status touchAll(const Instruction &instruction) {
    Status status;
    forEachAccess(instruction, [&](uint32_t buffer, bool isWrite) {
      if (status.ok())
        status = touch(buffer, isWrite);
    });
    return status;
  }

  Status touch(uint32_t index, bool isWrite) {
    MW_TRY(touchCopied(index, isWrite));
    if (inFlight.empty())
      return {};
    auto [begin, end] = getPieces(index, microBatch);
    bool written = moved.writes.any(begin, end), read = isWrite && moved.reads.any(begin, end);
    return written || read ? fail(index, isWrite, describe(findUser(begin, end, written)), written) : Status();
  }

  /// Collectives, too, must not touch buffers of copies in flight.
  Status checkCopied(const Collective &collective) {
    for (const CollectivePart &part : collective.parts()) {
      MW_TRY(part.has_in() ? touchCopied(part.in(), false) : Status());
      MW_TRY(part.has_out() ? touchCopied(part.out(), true) : Status());
    }
    return {};
  }

  Status touchCopied(uint32_t index, bool isWrite) {
    if (copies.empty())
      return {};
    auto [begin, end] = getPieces(index, microBatch);
    bool written = copied.writes.any(begin, end), read = isWrite && copied.reads.any(begin, end);
    if (!written && !read)
      return {};
    for (const auto &[tag, copy] : copies)
      if (auto [first, last] = getPieces(written ? copy->to() : copy->from(), microBatch); first < end && begin < last)
        return fail(index, isWrite, describe(*copy), written);
    return {};
  }

  static Status fail(uint32_t index, bool isWrite, const std::string &user, bool written) {
    return inputError("buffer {} is {} while {} {} it", index, isWrite ? "written" : "read", user,
                      written ? "writes" : "reads");
  }

  /// The first start in flight that writes, or reads, one of the pieces.
  const Start &findUser(size_t begin, size_t end, bool writing) const {
    for (const auto &[number, start] : inFlight)
      for (const CollectivePart &part : start.collective->parts()) {
        if (writing ? !part.has_out() : !part.has_in())
          continue;
        auto [first, last] = getPieces(writing ? part.out() : part.in(), start.microBatch());
        if (first < end && begin < last)
          return start;
      }
    return inFlight.begin()->second;
  }

  const Program &program;
  uint32_t microBatches;
  CollectiveTags tags;
  std::vector<uint64_t> ends;
  /// By collectives and by copies.
  Accesses moved, copied;
  /// The micro-batch of the task that is being followed.
  uint32_t microBatch = 0;
  /// Copies in flight, by their tags.
  std::map<uint32_t, const Copy *> copies;
  /// Names of those that some Wait of the step means.
  std::set<std::pair<uint32_t, uint32_t>> waited;
  /// By the order of issue; and the other way round, by name.
  std::map<uint64_t, Start> inFlight;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> numbers;
  /// The collectives in flight with the micro-batch of their period: at which of their addresses they are under way.
  std::set<std::pair<const Collective *, uint32_t>> places;
  std::deque<uint64_t> unwaited;
  uint64_t issued = 0;
};

} // namespace

Status meshwright::runtime::checkInFlight(const Program &program, uint32_t position, uint32_t microBatches) {
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions())
      if (instruction.has_wait() || instruction.collective().start() || instruction.copy().start())
        return InFlightChecker(program, microBatches).check(position);
  return {};
}
