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
#include "Grouping.h"
#include "meshwright/runtime/Communicator.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

/// A package that groups its ranks in more ways is not one that a compiler made.
static constexpr size_t maxGroupings = 256;

namespace {

/// A collective that is issued, with its instruction and the micro-batch that it is for.
struct Issued {
  const Collective *collective;
  const Instruction *instruction;
  uint32_t microBatch;
};

/// Calls fn(issued) for all that a step at that position of an accumulation issues, in order.
template <typename Fn> void forEachCollective(const Program &program, uint32_t position, Fn &&fn) {
  forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &item) {
    if (instruction.has_collective())
      fn(Issued{&instruction.collective(), &instruction, item.micro_batch()});
  });
}

/// A hash of a list, made item by item.
class Digest {
public:
  void add(uint64_t value) {
    state = (state ^ value) * 0x9e3779b97f4a7c15;
    state ^= state >> 29;
  }
  void add(const Issued &issued) {
    const Collective &collective = *issued.collective;
    add(issued.microBatch);
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

/// As in messages: `c_allreduce #2 (loss, hand.mlir:3) of 1 f32`, in a step of several micro-batches `... for
/// micro-batch 1`.
std::string describe(const Issued &issued, const meshwright::Package &package) {
  auto [collective, instruction, microBatch] = issued;
  uint64_t count = 0;
  std::string roots;
  for (const CollectivePart &part : collective->parts()) {
    count += part.count();
    if (hasRoot(collective->kind()))
      roots += fmt::format("{}{}", roots.empty() ? " with root " : ", ", part.root());
  }
  if (collective->kind() == Collective::SEND)
    roots += fmt::format(" to {}", collective->to());
  if (package.micro_batches() > 1)
    roots += fmt::format(" for micro-batch {}", microBatch);
  return fmt::format("{} #{} ({}{}{}) of {}{} {}{}", getName(collective->kind()), collective->tag(),
                     instruction->name(), instruction->location().empty() ? "" : ", ", instruction->location(),
                     collective->parts_size() == 1 ? "" : fmt::format("{} parts of ", collective->parts_size()), count,
                     getName(collective->dtype()), roots);
}

/// The first place where the lists of two ranks differ.
Status explain(const meshwright::Package &package, const Mesh &mesh, uint32_t position, const Grouping &grouping,
               int64_t first, int64_t second) {
  auto getList = [&](int64_t rank) {
    std::vector<Issued> list;
    forEachCollective(package.programs(static_cast<int>(package.program_of_rank(static_cast<int>(rank)))), position,
                      [&](const Issued &issued) {
                        if (Grouping(*issued.collective, mesh) == grouping)
                          list.push_back(issued);
                      });
    return list;
  };
  auto a = getList(first), b = getList(second);
  auto getDigest = [](const Issued &issued) {
    Digest digest;
    digest.add(issued);
    return digest.get();
  };
  size_t i = 0;
  while (i < a.size() && i < b.size() && getDigest(a[i]) == getDigest(b[i]))
    ++i;
  auto say = [&](const auto &list) { return i < list.size() ? describe(list[i], package) : std::string("nothing"); };
  return inputError("ranks {} and {} are in one group, but where rank {} issues {}, rank {} issues {}{}", first, second,
                    first, say(a), second, say(b),
                    package.accumulation_steps() > 1 ? fmt::format(", in step {} of an accumulation", position) : "");
}

Status checkStep(const meshwright::Package &package, const Mesh &mesh, uint32_t position) {
  std::set<Grouping> groupings;
  std::vector<std::map<Grouping, Digest>> lists(package.programs_size());
  for (int i = 0; i != package.programs_size(); ++i)
    forEachCollective(package.programs(i), position, [&](const Issued &issued) {
      Grouping grouping(*issued.collective, mesh);
      lists[i][grouping].add(issued);
      groupings.insert(std::move(grouping));
    });
  if (groupings.size() > maxGroupings)
    return inputError("the package groups its ranks in {} ways, more than {}", groupings.size(), maxGroupings);
  for (const Grouping &grouping : groupings) {
    std::vector<std::optional<uint64_t>> digests;
    for (const auto &list : lists) {
      auto found = list.find(grouping);
      digests.push_back(found == list.end() ? std::nullopt : std::optional(found->second.get()));
    }
    for (int64_t rank = 0; rank != mesh.getNumRanks(); ++rank) {
      std::optional<int64_t> first = grouping.getFirst(rank, mesh);
      if (first && digests[package.program_of_rank(static_cast<int>(rank))] !=
                       digests[package.program_of_rank(static_cast<int>(*first))])
        return explain(package, mesh, position, grouping, *first, rank);
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
