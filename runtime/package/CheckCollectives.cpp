//===- CheckCollectives.cpp - checks of single collectives ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks each collective by itself: its group, the presence and size of operands and results for its kind, and that
// results overlap no other array of the launch. Overlap costs O(n log n) for n arrays: they are sorted by their begin,
// and each result is compared with the array that ends last among those before it, each operand with the result that
// does.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

std::string meshwright::runtime::describeInstruction(const Task &task, int index) {
  const Instruction &instruction = task.instructions(index);
  return fmt::format("task \"{}\", instruction {} ({}{}{})", task.name(), index, instruction.name(),
                     instruction.location().empty() ? "" : ", ", instruction.location());
}

Status CollectiveChecker::check(const Collective &collective) {
  if (!Collective::Kind_IsValid(collective.kind()) || !Collective::Reduction_IsValid(collective.reduction()))
    return inputError("collective kind {} with reduction {} is unknown", static_cast<int>(collective.kind()),
                      static_cast<int>(collective.reduction()));
  uint64_t members = 1;
  MW_TRY(checkGroup(collective, members));
  if (getSize(collective.dtype()) == 0)
    return inputError("element type {} is unknown", static_cast<int>(collective.dtype()));
  if (isReducing(collective.kind()) && !isReducible(collective.reduction(), collective.dtype()))
    return inputError("the reduction {} is not defined on {}", Collective::Reduction_Name(collective.reduction()),
                      getName(collective.dtype()));
  if (collective.parts().empty())
    return inputError("the collective #{} has no parts", collective.tag());
  for (const CollectivePart &part : collective.parts())
    MW_TRY(checkPart(collective, part, members));
  if (collective.kind() == Collective::SEND)
    MW_TRY(checkSend(collective, members));
  return checkApart(collective, members);
}

Status CollectiveChecker::checkGroup(const Collective &collective, uint64_t &members) const {
  for (int i = 0; i != collective.axes_size(); ++i) {
    uint32_t axis = collective.axes(i);
    if (axis >= mesh.getNumAxes())
      return inputError("the group has axis {} of a mesh with {} axes", axis, mesh.getNumAxes());
    if (std::find(collective.axes().begin(), collective.axes().begin() + i, axis) != collective.axes().begin() + i)
      return inputError("the group has the axis \"{}\" twice", mesh.getName(axis));
    members *= mesh.getSize(axis);
  }
  return {};
}

Status CollectiveChecker::checkPart(const Collective &collective, const CollectivePart &part, uint64_t members) {
  if (hasRoot(collective.kind()) && part.root() >= members)
    return inputError("the root is member {} of a group of {}", part.root(), members);
  MW_TRY(checkPresence(collective, part));
  if (part.has_in())
    MW_TRY(checkFit(collective, part, part.in(), hasOperandPerMember(collective.kind()) ? members : 1));
  if (part.has_out())
    MW_TRY(checkFit(collective, part, part.out(), hasResultPerMember(collective.kind()) ? members : 1));
  return {};
}

/// A send has one root for all parts, and another member of the group as its receiver.
Status CollectiveChecker::checkSend(const Collective &collective, uint64_t members) const {
  uint32_t root = collective.parts(0).root(), to = collective.to();
  if (to >= members || to == root)
    return inputError("member {} of a group of {} sends to member {}", root, members, to);
  for (const CollectivePart &part : collective.parts())
    if (part.root() != root)
      return inputError("part \"{}\" is sent by member {}, but part \"{}\" by member {}", part.name(), part.root(),
                        collective.parts(0).name(), root);
  return {};
}

/// The sender has operands and no results, the receiver results and no operands; no other rank runs the program.
Status CollectiveChecker::checkEnds(const Collective &collective, const CollectivePart &part) {
  bool sends = part.has_in();
  if (sends == part.has_out())
    return inputError("part \"{}\" is sent and has {}", part.name(), sends ? "a result" : "no operand");
  uint32_t end = sends ? part.root() : collective.to();
  if (!ranks.empty() && getRole(collective, end) != Role::Root)
    return inputError("part \"{}\" has {}, but the program is not that of member {} alone, which {} it", part.name(),
                      sends ? "an operand" : "a result", end, sends ? "sends" : "gets");
  return {};
}

Status CollectiveChecker::checkPresence(const Collective &collective, const CollectivePart &part) {
  if (collective.kind() == Collective::SEND)
    return checkEnds(collective, part);
  bool broadcast = collective.kind() == Collective::BROADCAST, reduce = collective.kind() == Collective::REDUCE;
  if (!broadcast && !part.has_in())
    return inputError("part \"{}\" has no operand", part.name());
  if (!broadcast && !reduce && !part.has_out())
    return inputError("part \"{}\" has no result", part.name());
  if (!broadcast && !reduce)
    return {};
  // True if this rank has the buffer that only the root needs.
  bool present = broadcast ? part.has_in() : part.has_out();
  std::string_view what = broadcast ? "operand" : "result";
  switch (ranks.empty() ? (present ? Role::Root : Role::Member) : getRole(collective, part.root())) {
  case Role::Mixed:
    return inputError("the program is run by member {} of the group, the root of part \"{}\", and by others",
                      part.root(), part.name());
  case Role::Root:
    if (!present)
      return inputError("part \"{}\" has no {} on its root", part.name(), what);
    return {};
  case Role::Member:
    if (present)
      return inputError("part \"{}\" has a buffer for the {}, but member {} is the root", part.name(), what,
                        part.root());
    if (broadcast && !part.has_out())
      return inputError("part \"{}\" has no result", part.name());
    return {};
  }
  return {};
}

CollectiveChecker::Role CollectiveChecker::getRole(const Collective &collective, uint32_t root) {
  auto [entry, isNew] = positions.try_emplace({collective.axes().begin(), collective.axes().end()});
  std::vector<uint64_t> &places = entry->second;
  if (isNew) {
    for (int64_t rank : ranks) {
      std::vector<int64_t> coordinates = mesh.getCoordinates(rank);
      uint64_t position = 0;
      for (uint32_t axis : collective.axes())
        position = position * mesh.getSize(axis) + coordinates[axis];
      places.push_back(position);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  }
  if (!std::binary_search(places.begin(), places.end(), root))
    return Role::Member;
  return places.size() == 1 ? Role::Root : Role::Mixed;
}

Status CollectiveChecker::checkFit(const Collective &collective, const CollectivePart &part, uint32_t buffer,
                                   uint64_t members) const {
  if (buffer >= static_cast<uint32_t>(program.buffers_size()))
    return inputError("buffer {} is named but the program has {}", buffer, program.buffers_size());
  uint64_t bytes;
  if (__builtin_mul_overflow(part.count(), getSize(collective.dtype()) * members, &bytes) ||
      bytes > program.buffers(static_cast<int>(buffer)).bytes())
    return inputError("{} elements of {} for {} members do not fit the {} bytes of buffer {}", part.count(),
                      getName(collective.dtype()), members, program.buffers(static_cast<int>(buffer)).bytes(), buffer);
  if (program.buffers(static_cast<int>(buffer)).offset() % getSize(collective.dtype()) != 0)
    return inputError("the offset {} of buffer {} is no multiple of the {} bytes of {}",
                      program.buffers(static_cast<int>(buffer)).offset(), buffer, getSize(collective.dtype()),
                      getName(collective.dtype()));
  return {};
}

/// True if all buffers of a launch move on alike from micro-batch to micro-batch.
bool CollectiveChecker::haveAlikeSlots(const Collective &collective) const {
  std::optional<std::pair<uint32_t, uint64_t>> common;
  bool alike = true;
  auto visit = [&](uint32_t index) {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    std::pair<uint32_t, uint64_t> slots(getSlots(buffer), getSlots(buffer) == 1 ? 0 : buffer.slot_bytes());
    alike &= common.value_or(slots) == slots;
    common = slots;
  };
  for (const CollectivePart &part : collective.parts()) {
    if (part.has_in())
      visit(part.in());
    if (part.has_out())
      visit(part.out());
  }
  return alike;
}

/// A written range overlaps no other range of the launch, except its own operand where the kind allows that. If the
/// slots of the buffers repeat with different periods, the range covers all slots.
Status CollectiveChecker::checkApart(const Collective &collective, uint64_t members) const {
  struct Range {
    uint64_t begin, end;
    uint32_t buffer;
    bool written;
  };
  std::vector<Range> ranges;
  bool alike = haveAlikeSlots(collective);
  auto add = [&](uint32_t index, uint64_t elements, bool written) {
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    uint64_t begin = buffer.offset(), bytes = elements * getSize(collective.dtype());
    if (elements != 0)
      ranges.push_back({begin, begin + bytes + (alike ? 0 : getExtent(buffer) - buffer.bytes()), index, written});
  };
  for (const CollectivePart &part : collective.parts()) {
    bool inPlace =
        part.has_in() && part.has_out() &&
        (collective.kind() == Collective::ALL_REDUCE || hasRoot(collective.kind())) && alike &&
        program.buffers(static_cast<int>(part.in())).offset() == program.buffers(static_cast<int>(part.out())).offset();
    if (part.has_in() && !inPlace)
      add(part.in(), part.count() * (hasOperandPerMember(collective.kind()) ? members : 1), false);
    if (part.has_out())
      add(part.out(), part.count() * (hasResultPerMember(collective.kind()) ? members : 1), true);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
  // Among the earlier ranges, the one that ends last, and the written one that ends last.
  const Range *last = nullptr, *lastWritten = nullptr;
  for (const Range &range : ranges) {
    const Range *other = range.written ? last : lastWritten;
    if (other && range.begin < other->end) {
      auto [result, operand] = range.written ? std::pair(range, *other) : std::pair(*other, range);
      return inputError("the result in buffer {} overlaps the {} in buffer {}", result.buffer,
                        operand.written ? "result" : "operand", operand.buffer);
    }
    if (!last || range.end > last->end)
      last = &range;
    if (range.written && (!lastWritten || range.end > lastWritten->end))
      lastWritten = &range;
  }
  return {};
}
