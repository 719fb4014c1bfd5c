//===- StepSimulator.cpp - when what happens in a step --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All work goes on at one rate, so it is measured on a clock of its own that runs at that rate: a piece of work that
// begins at v and takes w ends at v + w, whatever else begins and ends meanwhile. The next end is the first of two
// queues, one in that time and one, for links, in real time.
//
//===----------------------------------------------------------------------===//

#include "StepSimulator.h"
#include <algorithm>
#include <array>
#include <queue>

using namespace meshwright::runtime;

namespace {

class Simulator {
public:
  explicit Simulator(const StepProblem &problem)
      : problem(problem), ranks(problem.ranks.size()), groups(problem.groupSizes.size()) {}

  Result<std::vector<SimulatedSpan>> run() {
    for (uint32_t rank = 0; rank != ranks.size(); ++rank)
      advance(rank);
    while (!works.empty() || !timers.empty())
      next();
    for (uint32_t rank = 0; rank != ranks.size(); ++rank)
      if (ranks[rank].item != problem.ranks[rank].size())
        return faultError("rank {} waits for ever at item {} of its {}", rank, ranks[rank].item,
                          problem.ranks[rank].size());
    return std::move(spans);
  }

private:
  /// The items of what moves in a channel, in the order of issue; how many are over, and whether the next is under way.
  struct Moves {
    std::vector<uint32_t> issued;
    uint32_t over = 0;
    bool isMoving = false;
  };
  struct Rank {
    /// The item at which the computing side is, and since when it waits there.
    uint32_t item = 0;
    double since = 0;
    bool isWaiting = false;
    std::array<Moves, numChannels> channels;

    Moves &get(Channel channel) { return channels[static_cast<size_t>(channel)]; }
    const Moves &get(Channel channel) const { return channels[static_cast<size_t>(channel)]; }
  };
  struct Group {
    /// The members that have come to the collective under way, and how many of them are done with their work.
    std::vector<uint32_t> come;
    uint32_t done = 0;
    double begin = 0;
    Channel channel = Channel::Collectives;
  };
  /// The end of work, or of a group's collective on the link; equal ends in the order in which they were added.
  struct Event {
    double end;
    uint64_t order;
    uint32_t which;
    bool isMoving;
    double begin;
    Channel channel = Channel::Collectives;
    bool operator>(const Event &other) const { return end != other.end ? end > other.end : order > other.order; }
  };
  using Queue = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

  double getRate() const {
    return works.empty() ? 1 : std::min(1.0, static_cast<double>(problem.cores) / static_cast<double>(works.size()));
  }

  /// Goes to what ends next.
  void next() {
    double rate = getRate();
    double workEnd = works.empty() ? 0 : time + std::max(0.0, works.top().end - workTime) / rate;
    if (works.empty() || (!timers.empty() && timers.top().end <= workEnd)) {
      Event event = timers.top();
      timers.pop();
      workTime += (event.end - time) * rate;
      time = event.end;
      return finishMove(event.which);
    }
    Event event = works.top();
    works.pop();
    workTime = std::max(workTime, event.end);
    time = workEnd;
    if (event.isMoving)
      return finishWork(event.which, event.channel);
    spans.push_back({event.which, ranks[event.which].item, SimulatedSpan::Compute, event.begin, time});
    ++ranks[event.which].item;
    advance(event.which);
  }

  void addWork(uint32_t rank, double work, bool isMoving, Channel channel = Channel::Collectives) {
    works.push({workTime + work, order++, rank, isMoving, time, channel});
  }

  /// Lets the computing side of a rank go on as far as it can.
  void advance(uint32_t rank) {
    Rank &state = ranks[rank];
    const std::vector<SimulatedItem> &items = problem.ranks[rank];
    while (state.item != items.size()) {
      const SimulatedItem &item = items[state.item];
      if (item.kind == SimulatedItem::Compute)
        return addWork(rank, item.work, false);
      if (item.kind != SimulatedItem::Wait && !state.isWaiting) {
        state.get(item.channel).issued.push_back(state.item);
        move(rank, item.channel);
      }
      const Moves &moves = state.get(item.channel);
      uint32_t wanted = item.kind == SimulatedItem::Wait      ? item.which + 1
                        : item.kind == SimulatedItem::Execute ? static_cast<uint32_t>(moves.issued.size())
                                                              : 0;
      if (moves.over < wanted) {
        if (!state.isWaiting)
          state.since = time;
        state.isWaiting = true;
        return;
      }
      if (state.isWaiting)
        spans.push_back({rank, state.item, SimulatedSpan::Wait, state.since, time});
      state.isWaiting = false;
      ++state.item;
    }
  }

  /// Lets a channel of a rank come to what it moves next.
  void move(uint32_t rank, Channel channel) {
    Moves &moves = ranks[rank].get(channel);
    if (moves.isMoving || moves.over == moves.issued.size())
      return;
    moves.isMoving = true;
    uint32_t index = getItem(rank, channel).which;
    Group &group = groups[index];
    group.channel = channel;
    group.come.push_back(rank);
    if (group.come.size() != problem.groupSizes[index])
      return;
    group.begin = time;
    for (uint32_t member : group.come)
      addWork(member, getItem(member, channel).work, true, channel);
  }

  /// The item that a channel of a rank has come to.
  const SimulatedItem &getItem(uint32_t rank, Channel channel) const {
    const Moves &moves = ranks[rank].get(channel);
    return problem.ranks[rank][moves.issued[moves.over]];
  }

  void finishWork(uint32_t rank, Channel channel) {
    const SimulatedItem &item = getItem(rank, channel);
    Group &group = groups[item.which];
    if (++group.done == problem.groupSizes[item.which])
      timers.push({std::max(time, group.begin + item.delay), order++, item.which, true, group.begin});
  }

  void finishMove(uint32_t index) {
    std::vector<uint32_t> members = std::move(groups[index].come);
    double begin = groups[index].begin;
    Channel channel = groups[index].channel;
    groups[index] = {};
    for (uint32_t rank : members) {
      Moves &moves = ranks[rank].get(channel);
      spans.push_back({rank, moves.issued[moves.over], SimulatedSpan::Move, begin, time});
      ++moves.over;
      moves.isMoving = false;
    }
    for (uint32_t rank : members) {
      move(rank, channel);
      if (ranks[rank].isWaiting)
        advance(rank);
    }
  }

  const StepProblem &problem;
  std::vector<Rank> ranks;
  std::vector<Group> groups;
  Queue works, timers;
  double time = 0, workTime = 0;
  uint64_t order = 0;
  std::vector<SimulatedSpan> spans;
};

} // namespace

Result<std::vector<SimulatedSpan>> meshwright::runtime::simulate(const StepProblem &problem) {
  return Simulator(problem).run();
}
