//===- CheckGroups.cpp - whether all members of a group agree -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every program's list of collectives is reduced to a number per group of axes; a rank's number has to be that of the
// first member of its group. Linear in the size of the package. Equal numbers of different lists would go unnoticed
// here and be an error where the members meet.
//
//===----------------------------------------------------------------------===//

#include "CheckCollectives.h"
#include "meshwright/runtime/Communicator.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

/// A package that groups its ranks in more ways is not one that a compiler made.
static constexpr size_t maxGroupings = 256;

namespace {

using Axes = std::vector<uint32_t>;

/// Axes of size 1 make no difference to who is in a group.
Axes getAxes(const Collective &collective, const Mesh &mesh) {
  Axes axes;
  for (uint32_t axis : collective.axes())
    if (mesh.getSize(axis) != 1)
      axes.push_back(axis);
  return axes;
}

/// Calls fn(collective, instruction) for all that a step at that position of a merge issues, in order.
template <typename Fn> void forEachCollective(const Program &program, uint32_t position, Fn &&fn) {
  forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &) {
    if (instruction.has_collective())
      fn(instruction.collective(), instruction);
  });
}

/// A hash of a list, made item by item.
class Digest {
public:
  void add(uint64_t value) {
    state = (state ^ value) * 0x9e3779b97f4a7c15;
    state ^= state >> 29;
  }
  void add(const Collective &collective) {
    add(collective.kind());
    if (isReducing(collective.kind()))
      add(collective.reduction());
    add(collective.dtype());
    add(collective.tag());
    add(collective.parts_size());
    for (const CollectivePart &part : collective.parts()) {
      add(part.count());
      if (hasRoot(collective.kind()))
        add(part.root());
    }
  }
  uint64_t get() const { return state; }

private:
  uint64_t state = 0x243f6a8885a308d3;
};

/// As in messages: `c_allreduce #2 (loss, hand.mlir:3) of 1 f32`.
std::string describe(const std::pair<const Collective *, const Instruction *> &issued) {
  auto [collective, instruction] = issued;
  uint64_t count = 0;
  std::string roots;
  for (const CollectivePart &part : collective->parts()) {
    count += part.count();
    if (hasRoot(collective->kind()))
      roots += fmt::format("{}{}", roots.empty() ? " with root " : ", ", part.root());
  }
  return fmt::format("{} #{} ({}{}{}) of {}{} {}{}", getName(collective->kind()), collective->tag(),
                     instruction->name(), instruction->location().empty() ? "" : ", ", instruction->location(),
                     collective->parts_size() == 1 ? "" : fmt::format("{} parts of ", collective->parts_size()), count,
                     getName(collective->dtype()), roots);
}

/// The first place where the lists of two ranks differ.
Status explain(const meshwright::Package &package, const Mesh &mesh, uint32_t position, const Axes &axes, int64_t first,
               int64_t second) {
  auto getList = [&](int64_t rank) {
    std::vector<std::pair<const Collective *, const Instruction *>> list;
    forEachCollective(package.programs(static_cast<int>(package.program_of_rank(static_cast<int>(rank)))), position,
                      [&](const Collective &collective, const Instruction &instruction) {
                        if (getAxes(collective, mesh) == axes)
                          list.push_back({&collective, &instruction});
                      });
    return list;
  };
  auto a = getList(first), b = getList(second);
  auto getDigest = [](const auto &issued) {
    Digest digest;
    digest.add(*issued.first);
    return digest.get();
  };
  size_t i = 0;
  while (i < a.size() && i < b.size() && getDigest(a[i]) == getDigest(b[i]))
    ++i;
  auto say = [&](const auto &list) { return i < list.size() ? describe(list[i]) : std::string("nothing"); };
  return inputError("ranks {} and {} are in one group, but where rank {} issues {}, rank {} issues {}{}", first, second,
                    first, say(a), second, say(b),
                    package.merge_steps() > 1 ? fmt::format(", in step {} of a merge", position) : "");
}

Status checkStep(const meshwright::Package &package, const Mesh &mesh, uint32_t position) {
  std::set<Axes> groupings;
  std::vector<std::map<Axes, Digest>> lists(package.programs_size());
  for (int i = 0; i != package.programs_size(); ++i)
    forEachCollective(package.programs(i), position, [&](const Collective &collective, const Instruction &) {
      Axes axes = getAxes(collective, mesh);
      lists[i][axes].add(collective);
      groupings.insert(std::move(axes));
    });
  if (groupings.size() > maxGroupings)
    return inputError("the package groups its ranks by {} lists of axes, more than {}", groupings.size(), maxGroupings);
  for (const Axes &axes : groupings) {
    std::vector<std::optional<uint64_t>> digests;
    for (const auto &list : lists) {
      auto found = list.find(axes);
      digests.push_back(found == list.end() ? std::nullopt : std::optional(found->second.get()));
    }
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank) {
      int64_t first = mesh.getFirstOfGroup(rank, axes);
      if (digests[package.program_of_rank(static_cast<int>(rank))] !=
          digests[package.program_of_rank(static_cast<int>(first))])
        return explain(package, mesh, position, axes, first, rank);
    }
  }
  return {};
}

} // namespace

Status meshwright::runtime::checkGroups(const meshwright::Package &package, const Mesh &mesh,
                                        const std::vector<StepVariant> &variants) {
  if (package.programs_size() < 2)
    return {};
  for (const StepVariant &variant : variants)
    MW_TRY(checkStep(package, mesh, variant.begin));
  return {};
}
