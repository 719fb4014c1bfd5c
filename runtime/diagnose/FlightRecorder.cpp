//===- FlightRecorder.cpp - what the ranks did last -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's thread stores an event and then counts it; a reader copies the ring and leaves out events that the count
// shows to be overwritten in the meantime, so that no lock is taken in a step. Comparing the ranks' last states names
// the members that are missing in a collective and the straggler.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/FlightRecorder.h"
#include "FlightText.h"
#include "meshwright/runtime/Decorator.h"
#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// A rank
//===----------------------------------------------------------------------===//

void RankFlight::addCollective(uint32_t number, const CollectiveCall &call) {
  calls.resize(std::max<size_t>(calls.size(), number + 1));
  calls[number] = call;
}

std::vector<RankFlight::Event> RankFlight::getEvents() const {
  std::vector<Event> events;
  uint64_t end = count.load(std::memory_order_acquire);
  for (uint64_t i = end - std::min(end, capacity); i != end; ++i) {
    const Slot &slot = ring[i % capacity];
    uint64_t what = slot.what.load(std::memory_order_relaxed);
    events.push_back({static_cast<Kind>(what >> 56), slot.time.load(std::memory_order_relaxed),
                      slot.step.load(std::memory_order_relaxed), static_cast<uint32_t>(what >> 32 & 0xffffff),
                      static_cast<uint32_t>(what)});
  }
  // Entries overwritten in the meantime are left out: they belong to another place.
  uint64_t overwritten = count.load(std::memory_order_acquire) - end;
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(overwritten, events.size())));
  return events;
}

namespace {

/// Notes what goes through.
class RecordingCommunicator : public CommunicatorDecorator {
public:
  using Kind = RankFlight::Kind;
  RecordingCommunicator(Communicator &inner, RankFlight &flight, const std::function<void(const Status &)> &onFailure)
      : CommunicatorDecorator(inner), flight(flight), onFailure(onFailure) {}

  Result<uint32_t> prepare(CollectiveCall call) override {
    MW_TRY_ASSIGN(uint32_t number, inner.prepare(call));
    flight.addCollective(number, call);
    return number;
  }
  Status execute(uint32_t number) override {
    flight.noteCollective(Kind::Issue, number);
    return time(number, [&] { return inner.execute(number); });
  }
  Status start(uint32_t number) override {
    flight.noteCollective(Kind::Start, number);
    return inner.start(number);
  }
  Status wait(uint32_t number) override {
    flight.noteCollective(Kind::Wait, number);
    return time(number, [&] { return inner.wait(number); });
  }
  void finishStep(const Status &status) override {
    if (!status.ok() && onFailure)
      onFailure(status);
    inner.finishStep(status);
  }

private:
  template <typename Fn> Status time(uint32_t number, Fn fn) {
    int64_t begin = TimeRange::now();
    Status status = fn();
    flight.noteCollective(status.ok() ? Kind::Over : Kind::Failed, number);
    flight.addWaiting(TimeRange::now() - begin);
    return status;
  }

  RankFlight &flight;
  const std::function<void(const Status &)> &onFailure;
};

} // namespace

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

RankFlight &FlightRecorder::getRank(int64_t rank) {
  std::lock_guard lock(mutex);
  for (const std::unique_ptr<RankFlight> &flight : flights)
    if (flight->getRank() == rank)
      return *flight;
  return *flights.emplace_back(std::make_unique<RankFlight>(rank));
}

std::unique_ptr<Backend> FlightRecorder::record(std::unique_ptr<Backend> backend) {
  return std::make_unique<BackendDecorator>(std::move(backend), [this](Communicator &inner, int64_t rank) {
    return std::make_unique<RecordingCommunicator>(inner, getRank(rank), onFailure);
  });
}

std::vector<FlightState> FlightRecorder::getStates() const {
  std::lock_guard lock(mutex);
  std::vector<FlightState> states;
  for (const std::unique_ptr<RankFlight> &flight : flights)
    states.push_back(getFlightState(*flight, firstStep));
  std::sort(states.begin(), states.end(), [](const FlightState &a, const FlightState &b) { return a.rank < b.rank; });
  return states;
}

std::string meshwright::runtime::describeDisagreement(const std::vector<FlightState> &states) {
  auto find = [&](int64_t rank) {
    return std::find_if(states.begin(), states.end(), [&](const FlightState &state) { return state.rank == rank; });
  };
  std::string found;
  for (const FlightState &state : states) {
    if (state.collective.empty())
      continue;
    std::vector<int64_t> come;
    std::vector<std::string> missing;
    bool isFree = false; // a member is missing that does not wait for others
    for (int64_t member : state.members) {
      auto other = find(member);
      if (other != states.end() && other->step == state.step && other->collective == state.collective) {
        come.push_back(member);
        continue;
      }
      missing.push_back(other == states.end() ? fmt::format("rank {} has said nothing", member)
                                              : fmt::format("rank {} has not: its last in step {} was {}", member,
                                                            other->step, other->doing));
      isFree |= other == states.end() || other->collective.empty();
    }
    if (missing.empty() || !(found.empty() || isFree))
      continue;
    found = fmt::format("to {} of step {} {} {} {} come; {}", state.collective, state.step,
                        come.size() == 1 ? "rank" : "ranks", fmt::join(come, ", "), come.size() == 1 ? "has" : "have",
                        fmt::join(missing, "; "));
    if (isFree)
      return found;
  }
  return found;
}

Result<std::string> FlightRecorder::findStraggler(World &world, double seconds) const {
  struct Waiting {
    int64_t rank;
    double seconds;
  };
  std::vector<Waiting> mine;
  for (const std::unique_ptr<RankFlight> &flight : flights)
    mine.push_back({flight->getRank(), flight->getWaitingSeconds()});
  MW_TRY_ASSIGN(std::vector<Bytes> all, world.gather(std::as_bytes(std::span(mine))));
  std::vector<Waiting> ranks;
  for (const Bytes &bytes : all)
    for (size_t at = 0; at + sizeof(Waiting) <= bytes.size(); at += sizeof(Waiting))
      std::memcpy(&ranks.emplace_back(), bytes.data() + at, sizeof(Waiting));
  std::sort(ranks.begin(), ranks.end(), [](const Waiting &a, const Waiting &b) { return a.seconds < b.seconds; });
  // The rank that never waits while all others do for a good part of the time.
  if (ranks.size() < 2 || ranks[1].seconds - ranks[0].seconds < 0.25 * seconds)
    return std::string();
  return fmt::format("the others wait for rank {}: it has waited {:.3f} s in collectives, every other rank {:.3f} s or "
                     "more of {:.3f} s",
                     ranks[0].rank, ranks[0].seconds, ranks[1].seconds, seconds);
}
