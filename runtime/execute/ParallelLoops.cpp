//===- ParallelLoops.cpp - loops that threads share -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on addresses alone, so it needs to know nothing of where loops come from. Bytes that several iterations write
// are temporaries if each iteration writes them before it reads them: then every thread gets a copy. Whatever else is
// read must be written by no other iteration. Time grows with the number of written-out instructions, times the
// logarithm of the number of ranges.
//
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"
#include "meshwright/runtime/Package.h"
#include "meshwright/runtime/RangeSet.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

/// The most bytes of private places, at least, and of a larger arena one of so many parts. Those of tiles fit into
/// caches; a copy of more would be felt in a rank's memory.
static constexpr uint64_t kMostPrivateBytes = 16 << 20, kPartsOfArena = 16;
/// The threads share evenly if their number divides that of iterations, or if each has at least so many.
static constexpr uint32_t kManyIterations = 4;

//===----------------------------------------------------------------------===//
// Private places
//===----------------------------------------------------------------------===//

void PrivatePlaces::add(uint64_t begin, uint64_t end) {
  // Buffers are as aligned in copies as in the arena.
  constexpr uint64_t alignment = 64;
  uint64_t to = (bytes + alignment - 1) / alignment * alignment + begin % alignment;
  places.push_back({begin, end, to});
  bytes = to + (end - begin);
}

std::vector<PrivatePlaces::Place>::const_iterator PrivatePlaces::findNext(uint64_t offset) const {
  return std::partition_point(places.begin(), places.end(), [&](const Place &place) { return place.end <= offset; });
}

std::optional<uint64_t> PrivatePlaces::find(uint64_t offset) const {
  auto place = findNext(offset);
  return place != places.end() && place->begin <= offset ? std::optional(place->to + (offset - place->begin))
                                                         : std::nullopt;
}

bool PrivatePlaces::hasAllOrNothing(uint64_t begin, uint64_t end) const {
  auto place = findNext(begin);
  return begin == end || place == places.end() || place->begin >= end || (place->begin <= begin && end <= place->end);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

struct Range {
  uint64_t begin, end;
};

/// The bytes that an iteration writes, and the ranges that it reads without having written them.
struct Iteration {
  RangeSet writes;
  std::vector<Range> reads;
};

/// Tells by which iterations each byte is written.
class Writers {
public:
  /// The writer of bytes that several iterations write.
  static constexpr uint32_t several = UINT32_MAX;
  struct Segment {
    uint64_t begin, end;
    uint32_t writer;
  };

  explicit Writers(const std::vector<Iteration> &iterations);
  /// In ascending order; none touches one of the same writer.
  const std::vector<Segment> &getSegments() const { return segments; }
  /// True if iterations other than `iteration` write none of these bytes.
  bool leaveAlone(Range range, uint32_t iteration) const;

private:
  std::vector<Segment> segments;
};

Writers::Writers(const std::vector<Iteration> &iterations) {
  // Ranges of one iteration do not overlap, so at any place the sum of the writers is the writer if there is one.
  struct Event {
    uint64_t at;
    int64_t writers, writer;
  };
  std::vector<Event> events;
  for (size_t i = 0; i != iterations.size(); ++i)
    for (auto [begin, end] : iterations[i].writes.getEnds()) {
      events.push_back({begin, 1, static_cast<int64_t>(i)});
      events.push_back({end, -1, -static_cast<int64_t>(i)});
    }
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) { return a.at < b.at; });
  int64_t writers = 0, writer = 0;
  for (size_t i = 0; i != events.size(); ++i) {
    writers += events[i].writers;
    writer += events[i].writer;
    if (writers == 0 || events[i].at == events[i + 1].at)
      continue;
    Segment next{events[i].at, events[i + 1].at, writers == 1 ? static_cast<uint32_t>(writer) : several};
    if (!segments.empty() && segments.back().end == next.begin && segments.back().writer == next.writer)
      segments.back().end = next.end;
    else
      segments.push_back(next);
  }
}

bool Writers::leaveAlone(Range range, uint32_t iteration) const {
  auto segment = std::partition_point(segments.begin(), segments.end(),
                                      [&](const Segment &segment) { return segment.end <= range.begin; });
  for (; segment != segments.end() && segment->begin < range.end; ++segment)
    if (segment->writer != iteration)
      return false;
  return true;
}

/// Looks at the loops of one task for one micro-batch.
class LoopFinder {
public:
  LoopFinder(const Program &program, const Task &task, uint32_t microBatch, uint32_t numThreads)
      : program(program), task(task), microBatch(microBatch), numThreads(numThreads) {}

  std::optional<ParallelLoop> share(const ExpandedLoop &loop) const;

private:
  /// True if threads have about as many iterations each.
  bool isEven(uint32_t iterations) const {
    return iterations >= numThreads && (iterations % numThreads == 0 || iterations >= kManyIterations * numThreads);
  }
  const Instruction &getInstruction(uint32_t number) const { return task.instructions(static_cast<int>(number)); }
  const Buffer &getBuffer(uint32_t number) const { return program.buffers(static_cast<int>(number)); }
  Range getRange(const Buffer &buffer) const {
    uint64_t begin = getOffset(buffer, microBatch);
    return {begin, begin + buffer.bytes()};
  }
  bool isShareable(const Instruction &instruction) const;
  bool fills(const Instruction &instruction, const Buffer &written) const;
  Iteration getIteration(uint32_t begin, uint32_t end) const;
  std::optional<PrivatePlaces> findPlaces(const ExpandedLoop &loop, const std::vector<Iteration> &iterations) const;

  const Program &program;
  const Task &task;
  uint32_t microBatch, numThreads;
};

} // namespace

/// True for work of a single thread in the device's arena.
bool LoopFinder::isShareable(const Instruction &instruction) const {
  if (!instruction.has_kernel() && !instruction.has_matmul() && !instruction.has_copy())
    return false;
  bool isOfDevice = true;
  forEachAccess(instruction, [&](uint32_t buffer, bool) { isOfDevice &= getBuffer(buffer).memory() == DEVICE; });
  return isOfDevice && !instruction.copy().start();
}

/// True if the instruction writes every byte of a buffer that it writes: the result of a product can have gaps.
bool LoopFinder::fills(const Instruction &instruction, const Buffer &written) const {
  uint64_t bytes = getArrayBytes(written);
  if (instruction.has_matmul()) {
    const Matmul &matmul = instruction.matmul();
    bytes = getSize(matmul.out_dtype()) * static_cast<uint64_t>(matmul.m() * matmul.n());
    for (int64_t size : matmul.batch())
      bytes *= static_cast<uint64_t>(size);
  }
  return bytes == written.bytes();
}

Iteration LoopFinder::getIteration(uint32_t begin, uint32_t end) const {
  Iteration iteration;
  auto read = [&](const Buffer &buffer) {
    Range range = getRange(buffer);
    if (!iteration.writes.contains(range.begin, range.end))
      iteration.reads.push_back(range);
  };
  for (uint32_t i = begin; i != end; ++i) {
    const Instruction &instruction = getInstruction(i);
    // The bytes that stay in a buffer are as good as read.
    forEachAccess(instruction, [&](uint32_t buffer, bool isWrite) {
      if (!isWrite || !fills(instruction, getBuffer(buffer)))
        read(getBuffer(buffer));
    });
    forEachAccess(instruction, [&](uint32_t buffer, bool isWrite) {
      Range range = getRange(getBuffer(buffer));
      if (isWrite)
        iteration.writes.add(range.begin, range.end);
    });
  }
  return iteration;
}

/// The private places of the iterations; nothing if one needs what another one does.
std::optional<PrivatePlaces> LoopFinder::findPlaces(const ExpandedLoop &loop,
                                                    const std::vector<Iteration> &iterations) const {
  Writers writers(iterations);
  for (uint32_t i = 0; i != iterations.size(); ++i)
    for (Range range : iterations[i].reads)
      if (!writers.leaveAlone(range, i))
        return std::nullopt;
  PrivatePlaces places;
  for (const Writers::Segment &segment : writers.getSegments()) {
    if (segment.writer != Writers::several)
      continue;
    // Only the last iteration leaves its values in the arena.
    if (!iterations.back().writes.contains(segment.begin, segment.end))
      return std::nullopt;
    places.add(segment.begin, segment.end);
  }
  if (places.getBytes() > std::max(kMostPrivateBytes, program.arena_bytes() / kPartsOfArena))
    return std::nullopt;
  bool isWhole = true;
  for (uint32_t i = loop.begin(); i != loop.begin() + loop.count() * loop.length(); ++i)
    forEachAccess(getInstruction(i), [&](uint32_t buffer, bool) {
      Range range = getRange(getBuffer(buffer));
      isWhole &= places.hasAllOrNothing(range.begin, range.end);
    });
  return isWhole ? std::optional(std::move(places)) : std::nullopt;
}

std::optional<ParallelLoop> LoopFinder::share(const ExpandedLoop &loop) const {
  if (loop.length() == 0 || !isEven(loop.count()))
    return std::nullopt;
  for (uint32_t i = loop.begin(); i != loop.begin() + loop.length(); ++i)
    if (!isShareable(getInstruction(i)))
      return std::nullopt;
  std::vector<Iteration> iterations;
  for (uint32_t i = 0; i != loop.count(); ++i) {
    uint32_t begin = loop.begin() + i * loop.length();
    iterations.push_back(getIteration(begin, begin + loop.length()));
    // Most loops that cannot be shared show it here, before all of a long one is looked at.
    if (i == 1)
      for (Range range : iterations[1].reads)
        if (iterations[0].writes.overlaps(range.begin, range.end))
          return std::nullopt;
  }
  std::optional<PrivatePlaces> places = findPlaces(loop, iterations);
  if (!places)
    return std::nullopt;
  ParallelLoop shared;
  shared.places = std::move(*places);
  for (uint64_t thread = 0; thread <= numThreads; ++thread)
    shared.parts.push_back(loop.begin() + static_cast<uint32_t>(thread * loop.count() / numThreads) * loop.length());
  return shared;
}

std::vector<ParallelLoop> meshwright::runtime::findParallelLoops(const Program &program, const Task &task,
                                                                 uint32_t microBatch, uint32_t numThreads) {
  std::vector<ParallelLoop> found;
  if (numThreads < 2)
    return found;
  LoopFinder finder(program, task, microBatch, numThreads);
  for (const ExpandedLoop &loop : task.loops()) {
    if (!found.empty() && loop.begin() < found.back().getEnd())
      continue;
    if (std::optional<ParallelLoop> shared = finder.share(loop))
      found.push_back(std::move(*shared));
  }
  return found;
}
