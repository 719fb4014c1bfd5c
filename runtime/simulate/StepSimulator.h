//===- StepSimulator.h - when what happens in a step ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank computes one thing after the other, and beside it, each in the order of issue, moves one collective after
// the other, one copy from its host and one to it. A collective begins when its last member has come to it and is over
// when all members have done their work and the link its own. Work shares the machine's cores: with c cores, k pieces
// of work at a time each go on at the rate min(1, c / k). With a core for each this is the longest path through the
// step.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SIMULATE_STEPSIMULATOR_H
#define MESHWRIGHT_RUNTIME_SIMULATE_STEPSIMULATOR_H

#include "meshwright/runtime/Status.h"
#include <cstdint>
#include <vector>

namespace meshwright::runtime {

/// The channels beside the computation of a rank, each of which moves one thing after the other.
enum class Channel : uint8_t { Collectives, Fetches, WriteBacks };
inline constexpr size_t numChannels = 3;

/// The actions of a rank, in order. All times are in seconds.
struct SimulatedItem {
  enum Kind { Compute, Execute, Start, Wait } kind;
  /// Work of the computation, or of this rank's share of the collective, or of the copy.
  double work = 0;
  /// The index of the collective's group, a copy's has its rank alone; of Wait: how much the rank issued in the channel
  /// before what it waits for.
  uint32_t which = 0;
  /// The least time from the beginning of a collective or copy to its end.
  double delay = 0;
  Channel channel = Channel::Collectives;
};

/// When an item was under way: computation; a collective, from when all members had come, or a copy; or, on the
/// computing side, how long an Execute or Wait kept the rank.
struct SimulatedSpan {
  uint32_t rank, item;
  enum Kind { Compute, Move, Wait } kind;
  double begin, end;
};

struct StepProblem {
  size_t cores = 1;
  /// The number of members of every group. A group is used in one channel.
  std::vector<uint32_t> groupSizes;
  std::vector<std::vector<SimulatedItem>> ranks;
};

/// The spans in the order of their ends; an error where ranks wait for one another for ever. Costs the logarithm of the
/// number of ranks per item.
Result<std::vector<SimulatedSpan>> simulate(const StepProblem &problem);

} // namespace meshwright::runtime

#endif
