//===- Flights.cpp - nothing touches what is in flight --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the order of a step. Collectives of a rank take place one after the other, so a later one may use what an
// earlier one has under way; copies between the memories are in no order with them.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Program.h"
#include <algorithm>
#include <deque>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

namespace {

class FlightChecker {
public:
  FlightChecker(const CheckedProgram &program, uint32_t position, const FlightNames &names, ProgramReport &report,
                Findings &findings)
      : program(program), position(position), names(names), report(report), findings(findings) {}

  bool check() {
    forEachExecuted(program, position, [&](const Executed &executed) {
      if (executed.instruction->has_wait())
        if (auto name = names.findWaited(executed))
          waited.insert(*name);
    });
    forEachExecuted(program, position, [&](const Executed &executed) { visit(executed); });
    for (const auto &[number, flight] : collectives)
      fail(flight.where, "{} is started and never over", flight.text);
    for (const auto &[key, flight] : copies)
      fail(flight.where, "{} is started and not waited for in its task", flight.text);
    return isMeaningful;
  }

private:
  struct Flight {
    Where where;
    std::string text;
    FlightNames::Name name;
    std::vector<std::pair<Range, bool>> ranges; ///< with whether they are written
    std::tuple<uint32_t, int, uint64_t, uint64_t> place;
  };

  template <typename... Args> void fail(const Where &where, fmt::format_string<Args...> format, Args &&...args) {
    findings.add(Property::Flight, where, fmt::format(format, std::forward<Args>(args)...));
  }

  void visit(const Executed &executed) {
    if (itemNumber != executed.itemNumber) {
      itemNumber = executed.itemNumber;
      for (const auto &[tag, flight] : copies) {
        fail(flight.where, "{} is started and not waited for in its task", flight.text);
        release(copied, flight);
      }
      copies.clear();
    }
    checkApart(executed);
    touch(executed, copied, copies);
    if (executed.instruction->has_collective())
      return issue(executed);
    if (executed.instruction->has_wait())
      return wait(executed);
    touch(executed, moved, collectives);
    if (executed.instruction->copy().start())
      startCopy(executed);
    if (executed.instruction->has_copy_wait())
      waitForCopy(executed);
  }

  /// Results of one instruction lie apart, and apart from its operands where it may not work in place.
  void checkApart(const Executed &executed) {
    std::vector<std::pair<Range, bool>> ranges = getRanges(executed);
    std::sort(ranges.begin(), ranges.end(), [](const auto &a, const auto &b) {
      return std::tie(a.first.begin, b.second) < std::tie(b.first.begin, a.second);
    });
    const Collective &collective = executed.instruction->collective();
    bool mayBeInPlace = executed.instruction->has_kernel() || executed.instruction->has_copy() ||
                        collective.kind() == Collective::ALL_REDUCE || isRooted(collective.kind());
    if (executed.instruction->has_matmul() || executed.instruction->has_convolution())
      mayBeInPlace = false;
    // Among the ranges before this one: the range that ends last, and the written range that ends last.
    Range last, lastWritten;
    for (const auto &[range, isWrite] : ranges) {
      const Range &other = isWrite ? last : lastWritten;
      bool isInPlace = mayBeInPlace && other.begin == range.begin && !(isWrite && lastWritten.overlaps(range));
      if (other.overlaps(range) && !isInPlace)
        findings.add(Property::Flight, getWhere(program, position, executed),
                     fmt::format("bytes [{}, {}) of its result are also bytes of another result or operand",
                                 std::max(other.begin, range.begin) % hostBase,
                                 std::min(other.end, range.end) % hostBase));
      if (range.end > last.end)
        last = range;
      if (isWrite && range.end > lastWritten.end)
        lastWritten = range;
    }
  }

  std::vector<std::pair<Range, bool>> getRanges(const Executed &executed) const {
    std::vector<std::pair<Range, bool>> ranges;
    for (const Access &access : executed.checked->accesses)
      ranges.push_back({shift(access.bytes, getAddress(program, access.buffer, executed)), access.isWrite});
    return ranges;
  }

  template <typename Flights> void touch(const Executed &executed, const FlightMap &map, const Flights &flights) {
    if (flights.empty())
      return;
    for (const Access &access : executed.checked->accesses) {
      Range range = shift(access.bytes, getAddress(program, access.buffer, executed));
      if (!map.isBusy(range, access.isWrite))
        continue;
      for (const auto &[key, flight] : flights)
        for (const auto &[other, isWritten] : flight.ranges)
          if (other.overlaps(range) && (isWritten || access.isWrite))
            return fail(getWhere(program, position, executed),
                        "{} bytes [{}, {}) of buffer {} while {} (task \"{}\", instruction {}) {} them",
                        access.isWrite ? "writes" : "reads", std::max(range.begin, other.begin) % hostBase,
                        std::min(range.end, other.end) % hostBase, access.buffer, flight.text, flight.where.task,
                        flight.where.instruction, isWritten ? "writes" : "reads");
    }
  }

  Flight makeFlight(const Executed &executed, std::string text) {
    ++report.launches;
    return {getWhere(program, position, executed), std::move(text), {}, getRanges(executed), {}};
  }
  static void hold(FlightMap &map, const Flight &flight, int value) {
    for (const auto &[range, isWrite] : flight.ranges)
      map.add(range, isWrite, value);
  }
  static void release(FlightMap &map, const Flight &flight) { hold(map, flight, -1); }

  void issue(const Executed &executed) {
    const Collective &collective = executed.instruction->collective();
    uint64_t number = issued++;
    if (!collective.start())
      return finishBefore(number);
    Flight flight = makeFlight(executed, fmt::format("{} #{}", getName(collective.kind()), collective.tag()));
    flight.name = names.getStarted(executed);
    uint64_t address = flight.ranges.empty() ? 0 : flight.ranges.front().first.begin;
    flight.place = {executed.task, executed.index, executed.before, address};
    if (!places.insert(flight.place).second || !numbers.emplace(flight.name, number).second) {
      isMeaningful = false;
      return fail(flight.where, "{} is started again before it is over", flight.text);
    }
    if (!waited.contains(flight.name))
      unwaited.push_back(number);
    hold(moved, flight, 1);
    collectives.emplace(number, std::move(flight));
  }

  void wait(const Executed &executed) {
    auto name = names.findWaited(executed);
    auto number = name ? numbers.find(*name) : numbers.end();
    if (number == numbers.end()) {
      isMeaningful = false;
      return fail(getWhere(program, position, executed), "waits for collective #{}, which {}",
                  executed.instruction->wait().tag(),
                  name ? "is not in flight" : "no action, or more than one, starts for it");
    }
    uint64_t which = number->second;
    finish(which);
    finishBefore(which);
  }

  /// Starts without a Wait of their own are over with a later collective that is waited for.
  void finishBefore(uint64_t number) {
    for (; !unwaited.empty() && unwaited.front() < number; unwaited.pop_front())
      finish(unwaited.front());
  }

  void finish(uint64_t number) {
    auto flight = collectives.find(number);
    release(moved, flight->second);
    numbers.erase(flight->second.name);
    places.erase(flight->second.place);
    collectives.erase(flight);
  }

  uint64_t getCopyTag(uint32_t tag, const Executed &executed) const { return tag + executed.before * program.numTags; }

  void startCopy(const Executed &executed) {
    uint32_t tag = executed.instruction->copy().tag();
    Flight flight = makeFlight(executed, fmt::format("copy #{}", tag));
    if (copies.contains(getCopyTag(tag, executed)))
      return fail(flight.where, "{} is started again before it is over", flight.text);
    hold(copied, flight, 1);
    copies.emplace(getCopyTag(tag, executed), std::move(flight));
  }

  void waitForCopy(const Executed &executed) {
    uint32_t tag = executed.instruction->copy_wait().tag();
    auto copy = copies.find(getCopyTag(tag, executed));
    if (copy == copies.end())
      return fail(getWhere(program, position, executed), "waits for copy #{}, which is not in flight", tag);
    release(copied, copy->second);
    copies.erase(copy);
  }

  const CheckedProgram &program;
  uint32_t position;
  const FlightNames &names;
  ProgramReport &report;
  Findings &findings;
  bool isMeaningful = true;
  uint32_t itemNumber = 0;
  /// The bytes that collectives and copies in flight use.
  FlightMap moved, copied;
  /// By the order of issue, and by tag.
  std::map<uint64_t, Flight> collectives;
  std::map<uint64_t, Flight> copies;
  std::map<FlightNames::Name, uint64_t> numbers;
  /// At which addresses instructions are under way.
  std::set<std::tuple<uint32_t, int, uint64_t, uint64_t>> places;
  /// Starts that some Wait of the step means; those in flight that none does.
  std::set<FlightNames::Name> waited;
  std::deque<uint64_t> unwaited;
  uint64_t issued = 0;
};

} // namespace

bool verify::checkFlights(const CheckedProgram &program, const std::vector<uint32_t> &variants, ProgramReport &report,
                          Findings &findings) {
  FlightNames names(program);
  bool isMeaningful = true;
  for (uint32_t position : variants)
    isMeaningful &= FlightChecker(program, position, names, report, findings).check();
  return isMeaningful;
}
