//===- CollectiveScript.h - random collectives ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of some ranks, drawn from a seed: the same on every process that asks. They are of all kinds, types
// and sizes over groups that overlap, executed or started and waited for later, in place and not.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_RUNTIME_MPI_COLLECTIVESCRIPT_H
#define MESHWRIGHT_TEST_RUNTIME_MPI_COLLECTIVESCRIPT_H

#include "meshwright/runtime/Communicator.h"
#include <random>

namespace meshwright::test {

/// A collective without its buffers.
struct ScriptedCall {
  runtime::CollectiveCall call;
  bool isInPlace = false;
  /// For a started collective, the number of the later collective before which it is waited for.
  size_t waitedBefore = 0;
};

class CollectiveScript {
public:
  /// Makes random collectives, only those that satisfy `wanted` if that is given.
  CollectiveScript(uint64_t seed, int64_t numRanks, size_t numCalls, uint64_t maxCount,
                   bool (*wanted)(const runtime::CollectiveCall &) = nullptr);
  const std::vector<ScriptedCall> &getCalls() const { return calls; }

private:
  uint64_t draw(uint64_t below) { return random() % below; }
  ScriptedCall drawCall(int64_t numRanks, uint64_t maxCount);
  void drawParts(ScriptedCall &scripted, uint64_t maxCount);

  std::mt19937_64 random;
  bool (*wanted)(const runtime::CollectiveCall &);
  std::vector<ScriptedCall> calls;
};

/// One rank's buffers of a script and its way through it.
class ScriptedRank {
public:
  ScriptedRank(const CollectiveScript &script, uint64_t seed, int64_t rank);
  /// Describes what the rank takes part in.
  runtime::Status prepare(runtime::Communicator &communicator);
  /// All of it, in order.
  runtime::Status run(runtime::Communicator &communicator) const;
  /// The collective whose buffers have other bytes than those of the same rank in another run, if any.
  const runtime::CollectiveCall *findDifference(const ScriptedRank &other) const;

private:
  bool takesPart(const ScriptedCall &scripted) const;
  runtime::CollectiveCall bind(size_t index);

  const CollectiveScript &script;
  int64_t rank;
  /// Per collective: the buffers of its parts, one after the other.
  std::vector<std::vector<std::vector<std::byte>>> buffers;
  std::vector<uint32_t> numbers;
  std::mt19937_64 random;
};

} // namespace meshwright::test

#endif
