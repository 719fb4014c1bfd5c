//===- Plan.h - a collective as messages and sums ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sends, receives, sums and copies of one member of a group for a collective, in order. They are planned once,
// when the collective is prepared; executing it is a walk over an array. With n members and B bytes of the full value:
//
//   small sums      each sends all to all others and reduces for itself                one meeting, B(n - 1)
//   sums            slices: to their owners, which reduce; from them to the receivers  two meetings, 2B(n - 1)/n
//   small broadcasts    over a binomial tree                                           log2(n) meetings, B log2(n)
//   broadcasts      slices: from the root to their owners; from them to the others     two meetings, B
//   the others      from where it is to where it goes                                  one meeting
//
// A broadcast is one of the others where that keeps no link busier than the rest: on one host, where there is none, and
// where all members are roots of as much, as of parameters that have an owner each.
//
// A slice is reduced by one member, over all members in their order, so that the bits are those of every other backend.
// Large slices move in rounds, the next of which is under way while one is reduced:
//
//   round 0   ── to owners ── reduce ── from owners ──
//   round 1          └─ to owners ─────── reduce ── from owners ──
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PLAN_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PLAN_H

#include "meshwright/runtime/Communicator.h"

namespace meshwright::runtime::processes {

/// Where something lies: an address, or an offset in the memory that all plans of a rank share.
struct Place {
  uint64_t address = 0;
  bool isScratch = false;

  std::byte *resolve(std::byte *scratch) const {
    return isScratch ? scratch + address : reinterpret_cast<std::byte *>(address);
  }
  Place operator+(uint64_t bytes) const { return {address + bytes, isScratch}; }
  bool operator==(const Place &) const = default;
};

/// One message. Those between two members with one direction are in the same order, and of the same sizes, in both
/// plans.
struct Transfer {
  Place place;
  uint64_t bytes = 0;
  uint64_t peer = 0; ///< its index in the group
  bool isSend = false;
};

struct Copy {
  Place to, from;
  uint64_t bytes = 0;
};

/// Messages that are under way together, what is put together before they are sent, and taken apart when all are over.
struct Batch {
  std::vector<Transfer> transfers;
  std::vector<Copy> packed, unpacked;
};

/// `inputs` are those of the members, in their order.
struct Reduction {
  std::vector<Place> inputs;
  Place output;
  uint64_t count = 0;
};

/// `index` is that of a batch, a reduction or a copy.
struct Action {
  enum class Kind { Post, Complete, Reduce, Copy };
  Kind kind;
  size_t index;
};

struct Plan {
  std::vector<Batch> batches;
  std::vector<Reduction> reductions;
  std::vector<Copy> copies;
  std::vector<Action> actions;
  uint64_t scratchBytes = 0;
};

/// In bytes; all members of a group have the same.
struct PlanLimits {
  /// All processes are on one host: broadcasts go from the root to each at once. What goes over others waits for them
  /// to get a core.
  bool isOneHost = false;
  /// Below it each member reduces everything.
  uint64_t direct = 2048;
  /// Up to it a broadcast goes over a tree.
  uint64_t tree = 32 << 10;
  /// No slice is smaller.
  uint64_t slice = 1024;
  /// The transfers to an owner, from each member, in a round.
  uint64_t round = 256 << 10;
  /// Messages between two members that are smaller together are one.
  uint64_t packed = 16 << 10;
  /// Transports may count in int.
  uint64_t message = 1 << 30;
};

/// The plan of the member of that index.
Plan planCollective(const CollectiveCall &call, uint64_t member, const PlanLimits &limits = {});

} // namespace meshwright::runtime::processes

#endif
