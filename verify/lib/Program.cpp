//===- Program.cpp - a program whose structure has been checked -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

Ranks::Ranks(std::vector<int64_t> given) : sizes(std::move(given)), strides(sizes.size(), 1) {
  for (size_t axis = sizes.size(); axis-- != 0;) {
    strides[axis] = numRanks;
    numRanks *= sizes[axis];
  }
}

uint64_t Ranks::countMembers(const google::protobuf::RepeatedField<uint32_t> &axes) const {
  uint64_t members = 1;
  for (uint32_t axis : axes)
    members *= static_cast<uint64_t>(sizes[axis]);
  return members;
}

std::pair<int64_t, uint64_t> Ranks::locate(int64_t rank, const google::protobuf::RepeatedField<uint32_t> &axes) const {
  uint64_t number = 0;
  int64_t first = rank;
  for (uint32_t axis : axes) {
    int64_t coordinate = rank / strides[axis] % sizes[axis];
    number = number * static_cast<uint64_t>(sizes[axis]) + static_cast<uint64_t>(coordinate);
    first -= coordinate * strides[axis];
  }
  return {first, number};
}

std::vector<int64_t> Ranks::listMembers(int64_t first, const google::protobuf::RepeatedField<uint32_t> &axes) const {
  std::vector<int64_t> members = {first};
  for (uint32_t axis : axes) {
    std::vector<int64_t> longer;
    for (int64_t member : members)
      for (int64_t i = 0; i != sizes[axis]; ++i)
        longer.push_back(member + i * strides[axis]);
    members = std::move(longer);
  }
  return members;
}

std::string verify::formatRanks(const std::vector<int64_t> &ranks) {
  std::string text;
  for (size_t i = 0; i != ranks.size();) {
    size_t last = i;
    while (last + 1 != ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (last != i)
      text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

void Findings::add(Property property, Where where, std::string message) {
  ++report.numFindings;
  ++report.byProperty[static_cast<size_t>(property)];
  if (report.findings.size() < most)
    report.findings.push_back({property, std::move(where), std::move(message)});
}

uint64_t verify::getAddress(const Buffer &buffer) { return buffer.offset() + (buffer.memory() == HOST ? hostBase : 0); }

uint64_t verify::getAddress(const CheckedProgram &program, uint32_t index, const Executed &executed) {
  const Buffer &buffer = program.getBuffer(index);
  uint64_t address = getAddress(buffer);
  if (buffer.slots() > 1)
    address += executed.item->micro_batch() % buffer.slots() * buffer.slot_bytes();
  for (int i = 0; i != buffer.iteration_bytes_size(); ++i)
    address += buffer.iteration_bytes(i) * (*executed.iterations)[static_cast<size_t>(i)];
  return address;
}

Where verify::getWhere(const CheckedProgram &program, uint32_t position) {
  Where where;
  where.program = program.name;
  where.ranks = program.ranksText;
  where.position = position;
  return where;
}

Where verify::getWhere(const CheckedProgram &program, uint32_t position, const Executed &executed) {
  Where where = getWhere(program, position);
  where.task = program.program->tasks(static_cast<int>(executed.task)).name();
  where.instruction = executed.index;
  where.name = executed.instruction->name();
  if (!executed.iterations->empty()) {
    std::string numbers;
    for (uint64_t number : *executed.iterations)
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
    where.name += fmt::format(" [{}]", numbers);
  }
  where.location = executed.instruction->location();
  where.microBatch = executed.item->micro_batch();
  return where;
}

FlightNames::FlightNames(const CheckedProgram &program) : program(program), numTags(program.numTags) {
  for (int number = 0; number != program.program->tasks_size(); ++number) {
    const Task &task = program.program->tasks(number);
    std::set<uint32_t> waited;
    for (const Instruction &instruction : task.instructions())
      if (instruction.has_wait())
        waited.insert(instruction.wait().tag());
    for (const Instruction &instruction : task.instructions()) {
      uint32_t tag = instruction.collective().tag();
      if (!instruction.collective().start())
        continue;
      if (waited.contains(tag))
        own.insert({static_cast<uint32_t>(number), tag});
      else
        left[tag].insert(task.action());
    }
  }
}

FlightNames::Name FlightNames::getStarted(const Executed &executed) const {
  uint32_t tag = executed.instruction->collective().tag();
  bool isOwn = own.contains({executed.task, tag});
  uint64_t action = program.program->tasks(static_cast<int>(executed.task)).action();
  return {isOwn ? executed.task : (uint64_t(1) << 32) + action, getTag(tag, executed), executed.item->micro_batch()};
}

std::optional<FlightNames::Name> FlightNames::findWaited(const Executed &executed) const {
  uint32_t tag = executed.instruction->wait().tag();
  Name name{executed.task, getTag(tag, executed), executed.item->micro_batch()};
  if (own.contains({executed.task, tag}))
    return name;
  auto actions = left.find(tag);
  if (actions == left.end() || actions->second.size() != 1)
    return std::nullopt;
  name.owner = (uint64_t(1) << 32) + *actions->second.begin();
  return name;
}
