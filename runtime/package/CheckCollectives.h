//===- CheckCollectives.h - whether collectives can be executed -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_CHECKCOLLECTIVES_H
#define MESHWRIGHT_RUNTIME_PACKAGE_CHECKCOLLECTIVES_H

#include "meshwright/runtime/Package.h"
#include <map>

namespace meshwright::runtime {

/// Checks the collectives of one program, each for itself: group, type, buffers, and that every rank that runs the
/// program has the operands and results that its place in the group asks for. The program's buffers have been checked.
class CollectiveChecker {
public:
  CollectiveChecker(const Program &program, const Mesh &mesh, std::span<const int64_t> ranks)
      : program(program), mesh(mesh), ranks(ranks) {}

  Status check(const Collective &collective);

private:
  enum class Role { Root, Member, Mixed };
  Status checkGroup(const Collective &collective, uint64_t &members) const;
  Status checkPart(const Collective &collective, const CollectivePart &part, uint64_t members);
  Status checkSend(const Collective &collective, uint64_t members) const;
  Status checkEnds(const Collective &collective, const CollectivePart &part);
  Status checkPresence(const Collective &collective, const CollectivePart &part);
  Status checkFit(const Collective &collective, const CollectivePart &part, uint32_t buffer, uint64_t members) const;
  bool haveAlikeSlots(const Collective &collective) const;
  Status checkApart(const Collective &collective, uint64_t members) const;
  Role getRole(const Collective &collective, uint32_t root);

  const Program &program;
  const Mesh &mesh;
  std::span<const int64_t> ranks;
  /// The places in the group that the ranks of the program have, by the group's axes; ascending.
  std::map<std::vector<uint32_t>, std::vector<uint64_t>> positions;
};

/// Checks the order of the step at a position of an accumulation: every start is over before the step is, a Wait names
/// a start in flight, and no instruction touches buffers of a start in flight. The instructions have been checked.
Status checkInFlight(const Program &program, uint32_t position, uint32_t microBatches);

/// Checks that what a step reads from a slot was written for the same micro-batch. The instructions have been checked.
Status checkSlots(const Program &program, uint32_t position);

/// Checks that all members of every group issue the same list of collectives in each variant of the step. The programs
/// have been checked.
Status checkGroups(const meshwright::Package &package, const Mesh &mesh, const std::vector<StepVariant> &variants);

/// Checks that all ranks come to the end of each variant of the step, with no memory between them; else the error is
/// the cycle of those that wait for each other. The groups have been checked.
Status checkProgress(const meshwright::Package &package, const Mesh &mesh, const std::vector<StepVariant> &variants);

/// As in messages: `task "step", instruction 3 (grad/w, model.mlir:88)`.
std::string describeInstruction(const Task &task, int index);

} // namespace meshwright::runtime

#endif
