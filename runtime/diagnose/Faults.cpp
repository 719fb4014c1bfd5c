//===- Faults.cpp - faults on purpose -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two layers share what is known about a rank: the outer one counts what the program issues and lets the rank die,
// hang, be late or leave something out; the inner one changes a byte. Whatever checks messages stands between them.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Faults.h"
#include "meshwright/runtime/Agreement.h"
#include "meshwright/runtime/Decorator.h"
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static constexpr std::pair<InjectedFault::Kind, std::string_view> names[] = {{InjectedFault::Kind::Kill, "kill"},
                                                                             {InjectedFault::Kind::Hang, "hang"},
                                                                             {InjectedFault::Kind::Slow, "slow"},
                                                                             {InjectedFault::Kind::Drop, "drop"},
                                                                             {InjectedFault::Kind::Corrupt, "corrupt"}};

std::string_view meshwright::runtime::getName(InjectedFault::Kind kind) {
  return std::find_if(std::begin(names), std::end(names), [&](const auto &name) { return name.first == kind; })->second;
}

static Status parseNumber(std::string_view key, std::string_view text, uint64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return usageError("the {} \"{}\" is no whole number", key, text);
  return {};
}

static Status parseKind(std::string_view text, InjectedFault &fault) {
  size_t colon = text.find(':');
  auto name = std::find_if(std::begin(names), std::end(names),
                           [&](const auto &known) { return known.second == text.substr(0, colon); });
  if (name == std::end(names))
    return usageError("the kind \"{}\" is none of kill, hang, slow:TIME, drop, corrupt", text);
  fault.kind = name->first;
  bool isSlow = fault.kind == InjectedFault::Kind::Slow;
  if (isSlow != (colon != std::string_view::npos))
    return usageError("the kind \"{}\" {}", text, isSlow ? "has no time; slow:50ms would do" : "takes no time");
  if (!isSlow)
    return {};
  // A link's latency is a time, with the same units.
  MW_TRY_ASSIGN(LinkModel link, LinkModel::parse(std::string(text.substr(colon + 1)) + ",1GB/s"));
  fault.delay = std::chrono::nanoseconds(static_cast<int64_t>(link.latency * 1e9));
  return {};
}

Result<InjectedFault> InjectedFault::parse(const std::string &text) {
  InjectedFault fault;
  uint64_t rank = 0;
  std::vector<std::string_view> seen;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    std::string_view key = item.substr(0, item.find('=')), value = item.substr(std::min(key.size() + 1, item.size()));
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return usageError("{} is given twice in \"{}\"", key, text);
    seen.push_back(key);
    if (key == "rank")
      MW_TRY(parseNumber(key, value, rank));
    else if (key == "op")
      MW_TRY(parseNumber(key, value, fault.operation));
    else if (key == "kind")
      MW_TRY(parseKind(value, fault));
    else
      return usageError("\"{}\" is none of rank=, op=, kind=", item);
  }
  if (seen.size() != 3)
    return usageError("\"{}\" does not say all of rank, op and kind, as rank=2,op=17,kind=hang does", text);
  fault.rank = static_cast<int64_t>(std::min<uint64_t>(rank, INT64_MAX));
  return fault;
}

//===----------------------------------------------------------------------===//
// A rank
//===----------------------------------------------------------------------===//

/// Used on the rank's thread.
struct meshwright::runtime::FaultyRank {
  int64_t rank;
  std::vector<InjectedFault> faults;
  const std::function<void(const std::string &)> &note;
  /// How many collectives the program has issued; the last of them is under way or over.
  uint64_t issued = 0;
  std::chrono::nanoseconds delay = {};

  /// The fault of that kind whose time has come; it is taken out.
  std::optional<InjectedFault> take(InjectedFault::Kind kind) {
    auto found = std::find_if(faults.begin(), faults.end(), [&](const InjectedFault &fault) {
      return fault.kind == kind && fault.operation < issued;
    });
    if (found == faults.end())
      return std::nullopt;
    InjectedFault fault = *found;
    faults.erase(found);
    return fault;
  }

  bool has(InjectedFault::Kind kind) const {
    return std::any_of(faults.begin(), faults.end(), [&](const InjectedFault &fault) { return fault.kind == kind; });
  }

  void say(std::string_view what, const CollectiveCall &call) const {
    note(fmt::format("rank {} {} {}, its collective {}", rank, what, describe(call), issued - 1));
  }
};

namespace {

using Kind = InjectedFault::Kind;

/// Counts what the program issues.
class RankDisturber : public CommunicatorDecorator {
public:
  RankDisturber(Communicator &inner, FaultyRank &state) : CommunicatorDecorator(inner), state(state) {}

  Result<uint32_t> prepare(CollectiveCall call) override {
    MW_TRY_ASSIGN(uint32_t number, inner.prepare(call));
    calls.resize(number + 1);
    calls[number] = {std::move(call), std::nullopt, false};
    return number;
  }

  Status execute(uint32_t number) override { return disturb(number) ? Status() : inner.execute(number); }

  Status start(uint32_t number) override {
    calls[number].isLeftOut = disturb(number);
    if (calls[number].isLeftOut) {
      calls[number].before = lastStarted;
      return {};
    }
    lastStarted = number;
    return inner.start(number);
  }

  /// Where nothing was started, what was started before it is over all the same.
  Status wait(uint32_t number) override {
    const Known &known = calls[number];
    if (!known.isLeftOut)
      return inner.wait(number);
    return known.before ? inner.wait(*known.before) : Status();
  }

  void setTrace(std::vector<TimeRange> *times) override {
    trace = times;
    inner.setTrace(times);
  }

private:
  struct Known {
    CollectiveCall call;
    std::optional<uint32_t> before;
    bool isLeftOut = false;
  };

  /// Whether the collective is to be left out.
  bool disturb(uint32_t number) {
    const CollectiveCall &call = calls[number].call;
    ++state.issued;
    if (state.take(Kind::Kill)) {
      state.say("is killed at", call);
      ::kill(getpid(), SIGKILL);
    }
    if (state.take(Kind::Hang)) {
      state.say("hangs at", call);
      while (true)
        std::this_thread::sleep_for(std::chrono::hours(1));
    }
    if (auto fault = state.take(Kind::Slow)) {
      state.say("is slow from", call);
      state.delay = std::max(state.delay, fault->delay);
    }
    if (state.delay.count() != 0)
      std::this_thread::sleep_for(state.delay);
    bool isLeftOut = state.take(Kind::Drop).has_value();
    if (isLeftOut)
      state.say("leaves out", call);
    if (isLeftOut && trace)
      trace->push_back({TimeRange::now(), TimeRange::now()});
    return isLeftOut;
  }

  FaultyRank &state;
  std::vector<Known> calls;
  std::optional<uint32_t> lastStarted;
  std::vector<TimeRange> *trace = nullptr;
};

/// Whether others get something from this rank, and where that begins in the operand of a part.
std::optional<uint64_t> findContribution(const CollectiveCall &call, const CallPart &part, int64_t rank) {
  uint64_t n = call.members.size();
  if (n == 1 || !part.in || part.count == 0)
    return std::nullopt;
  if (!hasOperandPerMember(call.kind))
    return 0;
  uint64_t place = std::find(call.members.begin(), call.members.end(), rank) - call.members.begin();
  return (place + 1) % n * part.count * getSize(call.type);
}

/// Contributes from a copy with another byte, once. The backend knows every collective a second time, with a copy as
/// its operands.
class MessageDisturber : public CommunicatorDecorator {
public:
  MessageDisturber(Communicator &inner, FaultyRank &state) : CommunicatorDecorator(inner), state(state) {}

  Result<uint32_t> prepare(CollectiveCall call) override {
    Known known;
    known.call = call;
    MW_TRY_ASSIGN(known.number, inner.prepare(call));
    for (CallPart &part : call.parts) {
      uint64_t bytes = part.in ? part.count * getSize(call.type) : 0;
      known.copies.emplace_back(bytes * (hasOperandPerMember(call.kind) ? call.members.size() : 1));
      part.in = part.in ? known.copies.back().data() : nullptr;
    }
    MW_TRY_ASSIGN(known.wrong, inner.prepare(std::move(call)));
    known.issued = known.number;
    calls.push_back(std::move(known));
    return static_cast<uint32_t>(calls.size() - 1);
  }

  Status execute(uint32_t number) override {
    MW_TRY(disturb(calls[number]));
    return inner.execute(calls[number].issued);
  }
  Status start(uint32_t number) override {
    MW_TRY(disturb(calls[number]));
    lastStarted = calls[number].issued;
    return inner.start(calls[number].issued);
  }
  Status wait(uint32_t number) override { return inner.wait(calls[number].issued); }
  double getCpuSeconds(uint32_t number) const override { return inner.getCpuSeconds(calls[number].issued); }

private:
  struct Known {
    CollectiveCall call;
    std::vector<std::vector<std::byte>> copies;
    /// As the backend knows it: as it is, from the copies, and as which of them it was issued last.
    uint32_t number = 0, wrong = 0, issued = 0;
  };

  /// Decides from where the rank contributes this time.
  Status disturb(Known &known) {
    known.issued = known.number;
    for (size_t i = 0; i != known.call.parts.size(); ++i) {
      const CallPart &part = known.call.parts[i];
      std::optional<uint64_t> at = findContribution(known.call, part, state.rank);
      if (!at || !state.take(Kind::Corrupt))
        continue;
      state.say("changes a byte of what it contributes to", known.call);
      // A collective that is under way may make the operands.
      if (lastStarted)
        MW_TRY(inner.wait(*lastStarted));
      for (size_t other = 0; other != known.copies.size(); ++other)
        if (!known.copies[other].empty())
          std::memcpy(known.copies[other].data(), known.call.parts[other].in, known.copies[other].size());
      // The exponent of a float: its value shows it.
      known.copies[i][*at + getSize(known.call.type) - 1] ^= std::byte{0x40};
      known.issued = known.wrong;
      return {};
    }
    return {};
  }

  FaultyRank &state;
  std::vector<Known> calls;
  std::optional<uint32_t> lastStarted;
};

} // namespace

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

FaultPlan::FaultPlan(std::vector<InjectedFault> faults, std::function<void(const std::string &)> note)
    : faults(std::move(faults)), note(std::move(note)) {}
FaultPlan::~FaultPlan() = default;

Status FaultPlan::check(int64_t numRanks) const {
  for (const InjectedFault &fault : faults)
    if (fault.rank >= numRanks)
      return usageError("a fault of rank {} is wanted, but there are {} ranks", fault.rank, numRanks);
  return {};
}

FaultyRank &FaultPlan::getState(int64_t rank) {
  for (const std::unique_ptr<FaultyRank> &state : states)
    if (state->rank == rank)
      return *state;
  states.push_back(std::make_unique<FaultyRank>(FaultyRank{rank, {}, note}));
  for (const InjectedFault &fault : faults)
    if (fault.rank == rank)
      states.back()->faults.push_back(fault);
  return *states.back();
}

std::unique_ptr<Backend> FaultPlan::disturbMessages(std::unique_ptr<Backend> backend) {
  return std::make_unique<BackendDecorator>(std::move(backend),
                                            [&](Communicator &inner, int64_t rank) -> std::unique_ptr<Communicator> {
                                              FaultyRank &state = getState(rank);
                                              if (!state.has(Kind::Corrupt))
                                                return std::make_unique<CommunicatorDecorator>(inner);
                                              return std::make_unique<MessageDisturber>(inner, state);
                                            });
}

std::unique_ptr<Backend> FaultPlan::disturbRanks(std::unique_ptr<Backend> backend) {
  return std::make_unique<BackendDecorator>(std::move(backend), [&](Communicator &inner, int64_t rank) {
    return std::make_unique<RankDisturber>(inner, getState(rank));
  });
}
