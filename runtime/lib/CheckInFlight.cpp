//===- CheckInFlight.cpp - whether nobody touches what is in flight -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the order of a step. The ends of all buffers cut the arena into pieces; a tree over the pieces counts, for
// any range, the starts in flight that touch it. Each instruction costs the logarithm of the number of buffers.
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

class InFlightChecker {
public:
  explicit InFlightChecker(const Program &program)
      : program(program), tags(program), ends(getEnds(program)), reads(ends.size()), writes(ends.size()) {}

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
    }
    if (!inFlight.empty())
      return inputError("{} is started and never waited for", describe(*inFlight.begin()->second));
    return {};
  }

private:
  static std::vector<uint64_t> getEnds(const Program &program) {
    std::vector<uint64_t> ends;
    for (const Buffer &buffer : program.buffers()) {
      ends.push_back(buffer.offset());
      ends.push_back(buffer.offset() + buffer.bytes());
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  static std::string describe(const Collective &collective) {
    return fmt::format("{} #{}", getName(collective.kind()), collective.tag());
  }

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
      return touch(instruction.copy().to(), true);
    case Instruction::kCoordinate:
      return touch(instruction.coordinate().buffer(), true);
    case Instruction::kMicroBatch:
      return touch(instruction.micro_batch().buffer(), true);
    case Instruction::kCollective:
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
        addTo(reads, part.in(), value);
      if (part.has_out())
        addTo(writes, part.out(), value);
    }
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
    return {find(buffer.offset()), find(buffer.offset() + buffer.bytes())};
  }

  Status touch(uint32_t index, bool isWrite) {
    if (inFlight.empty())
      return {};
    auto [begin, end] = getPieces(index);
    bool written = writes.any(begin, end), read = isWrite && reads.any(begin, end);
    if (!written && !read)
      return {};
    return inputError("buffer {} is {} while {} {} it", index, isWrite ? "written" : "read",
                      describe(*findUser(begin, end, written)), written ? "writes" : "reads");
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
  RangeCounts reads, writes;
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
      if (instruction.has_wait() || instruction.collective().start())
        return InFlightChecker(program).check(position);
  return {};
}
