//===- CheckInFlight.cpp - whether nobody touches what is in flight -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the order of a step. The ends of all buffers cut the arenas, one behind the other, into pieces; a tree over
// the pieces counts, for any range, the starts in flight that touch it. Each instruction costs the logarithm of the
// number of buffers. Collectives take place in their order, so that one may take what another has in flight; copies are
// in no order with them.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "CollectiveTags.h"
#include "meshwright/runtime/Communicator.h"
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
  /// What was added to the whole of a node's range; the largest count in it.
  std::vector<int> added, largest;
};

/// What starts of one kind in flight read and write.
struct Accesses {
  explicit Accesses(size_t pieces) : reads(pieces), writes(pieces) {}
  RangeCounts reads, writes;
};

class InFlightChecker {
public:
  explicit InFlightChecker(const Program &program)
      : program(program), tags(program), ends(getEnds(program)), moved(ends.size()), copied(ends.size()) {}

  Status check(uint32_t position) {
    forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &item) {
      if (instruction.has_wait())
        waited.insert(tags.find(item.task(), instruction.wait().tag()));
    });
    for (const ScheduleItem &item : program.schedule()) {
      if (!runsAt(item, position))
        continue;
      const Task &task = program.tasks(static_cast<int>(item.task()));
      for (int i = 0; i != task.instructions_size(); ++i)
        MW_TRY(visit(task.instructions(i), item.task()).within(describeInstruction(task, i)));
      if (!copies.empty())
        return inputError("{} is started and not waited for in its task", describe(*copies.begin()->second));
    }
    if (!inFlight.empty())
      return inputError("{} is started and never waited for", describe(*inFlight.begin()->second));
    return {};
  }

private:
  /// The arena of the host is thought to lie behind that of the device.
  static uint64_t getBegin(const Program &program, const Buffer &buffer) {
    return buffer.offset() + (buffer.memory() == HOST ? program.arena_bytes() : 0);
  }

  static std::vector<uint64_t> getEnds(const Program &program) {
    std::vector<uint64_t> ends;
    for (const Buffer &buffer : program.buffers()) {
      ends.push_back(getBegin(program, buffer));
      ends.push_back(getBegin(program, buffer) + buffer.bytes());
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  static std::string describe(const Collective &collective) {
    return fmt::format("{} #{}", getName(collective.kind()), collective.tag());
  }

  static std::string describe(const Copy &copy) { return fmt::format("copy #{}", copy.tag()); }

  Status visit(const Instruction &instruction, uint32_t task) {
    switch (instruction.kind_case()) {
    case Instruction::kKernel: {
      const auto &arguments = instruction.kernel().arguments();
      int firstOutput = arguments.size() - static_cast<int>(instruction.kernel().outputs());
      for (int i = 0; i != arguments.size(); ++i)
        MW_TRY(touch(arguments[i], i >= firstOutput));
      return {};
    }
    case Instruction::kMatmul:
      MW_TRY(touch(instruction.matmul().lhs(), false));
      MW_TRY(touch(instruction.matmul().rhs(), false));
      return touch(instruction.matmul().out(), true);
    case Instruction::kCopy:
      MW_TRY(touch(instruction.copy().from(), false));
      MW_TRY(touch(instruction.copy().to(), true));
      if (instruction.copy().start()) {
        copies.emplace(instruction.copy().tag(), &instruction.copy());
        count(instruction.copy(), 1);
      }
      return {};
    case Instruction::kCopyWait:
      return waitForCopy(instruction.copy_wait().tag());
    case Instruction::kCoordinate:
      return touch(instruction.coordinate().buffer(), true);
    case Instruction::kMicroBatch:
      return touch(instruction.micro_batch().buffer(), true);
    case Instruction::kCollective:
      MW_TRY(checkCopied(instruction.collective()));
      if (instruction.collective().start())
        return issue(instruction.collective());
      finishBefore(issued);
      return {};
    default:
      return wait(*tags.find(task, instruction.wait().tag()));
    }
  }

  Status issue(const Collective &collective) {
    if (!numbers.emplace(&collective, issued).second)
      return inputError("{} is started again before it was waited for", describe(collective));
    inFlight.emplace(issued, &collective);
    if (!waited.contains(&collective))
      unwaited.push_back(issued);
    count(collective, 1);
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

  Status wait(const Collective &collective) {
    auto number = numbers.find(&collective);
    if (number == numbers.end())
      return inputError("collective #{} is waited for and not in flight", collective.tag());
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
    count(*found->second, -1);
    numbers.erase(found->second);
    inFlight.erase(found);
  }

  void count(const Collective &collective, int value) {
    for (const CollectivePart &part : collective.parts()) {
      if (part.has_in())
        addTo(moved.reads, part.in(), value);
      if (part.has_out())
        addTo(moved.writes, part.out(), value);
    }
  }
  void count(const Copy &copy, int value) {
    addTo(copied.reads, copy.from(), value);
    addTo(copied.writes, copy.to(), value);
  }
  void addTo(RangeCounts &counts, uint32_t buffer, int value) {
    auto [begin, end] = getPieces(buffer);
    counts.add(begin, end, value);
  }

  std::pair<size_t, size_t> getPieces(uint32_t index) const {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    auto find = [&](uint64_t at) {
      return static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), at) - ends.begin());
    };
    uint64_t begin = getBegin(program, buffer);
    return {find(begin), find(begin + buffer.bytes())};
  }

  Status touch(uint32_t index, bool isWrite) {
    MW_TRY(touchCopied(index, isWrite));
    if (inFlight.empty())
      return {};
    auto [begin, end] = getPieces(index);
    bool written = moved.writes.any(begin, end), read = isWrite && moved.reads.any(begin, end);
    return written || read ? fail(index, isWrite, describe(*findUser(begin, end, written)), written) : Status();
  }

  /// What copies in flight have is not touched by collectives either.
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
    auto [begin, end] = getPieces(index);
    bool written = copied.writes.any(begin, end), read = isWrite && copied.reads.any(begin, end);
    if (!written && !read)
      return {};
    for (const auto &[tag, copy] : copies)
      if (auto [first, last] = getPieces(written ? copy->to() : copy->from()); first < end && begin < last)
        return fail(index, isWrite, describe(*copy), written);
    return {};
  }

  static Status fail(uint32_t index, bool isWrite, const std::string &user, bool written) {
    return inputError("buffer {} is {} while {} {} it", index, isWrite ? "written" : "read", user,
                      written ? "writes" : "reads");
  }

  /// The first start in flight that writes, or reads, one of the pieces.
  const Collective *findUser(size_t begin, size_t end, bool writing) const {
    for (const auto &[number, collective] : inFlight)
      for (const CollectivePart &part : collective->parts()) {
        if (writing ? !part.has_out() : !part.has_in())
          continue;
        auto [first, last] = getPieces(writing ? part.out() : part.in());
        if (first < end && begin < last)
          return collective;
      }
    return inFlight.begin()->second;
  }

  const Program &program;
  CollectiveTags tags;
  std::vector<uint64_t> ends;
  /// By collectives and by copies.
  Accesses moved, copied;
  /// Copies in flight, by their tags.
  std::map<uint32_t, const Copy *> copies;
  /// Those that some Wait of the step names.
  std::set<const Collective *> waited;
  /// By the order of issue; and the other way round.
  std::map<uint64_t, const Collective *> inFlight;
  std::map<const Collective *, uint64_t> numbers;
  std::deque<uint64_t> unwaited;
  uint64_t issued = 0;
};

} // namespace

Status meshwright::runtime::checkInFlight(const Program &program, uint32_t position) {
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions())
      if (instruction.has_wait() || instruction.collective().start() || instruction.copy().start())
        return InFlightChecker(program).check(position);
  return {};
}
