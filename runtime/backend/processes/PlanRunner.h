//===- PlanRunner.h - executes plans ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PLANRUNNER_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PLANRUNNER_H

#include "Plan.h"
#include "Post.h"
#include "meshwright/runtime/Reduce.h"

namespace meshwright::runtime::processes {

/// A collective of one rank, with all that its execution needs at hand.
class PlanRunner {
public:
  /// `world` tells backends apart that have the same groups.
  PlanRunner(CollectiveCall call, int64_t rank, const Transport &transport, uint64_t world);

  const CollectiveCall &getCall() const { return call; }
  /// The values that members compare.
  uint64_t getDigest() const { return digest; }
  uint64_t getScratchBytes() const { return plan.scratchBytes; }
  /// Gives the plan its scratch memory, once.
  void setScratch(std::byte *scratch);

  /// Compares what the members bring; all of them get the error, if there is one.
  Status check(Post &post);
  Status run(Post &post);

private:
  Status explainDifference(Post &post);
  Status perform(const Action &action, Post &post);

  CollectiveCall call;
  uint64_t member;
  Plan plan;
  ReduceFn reduceFn;
  int tag, checkTag;

  // Resolved.
  struct Copied {
    std::byte *to;
    const std::byte *from;
    uint64_t bytes;
  };
  struct Reduced {
    std::vector<const std::byte *> inputs;
    std::byte *output;
    uint64_t count;
  };
  struct Posted {
    std::vector<Message> messages;
    std::vector<Copied> packed, unpacked;
  };
  std::vector<Posted> batches;
  std::vector<Copied> copies;
  std::vector<Reduced> reductions;

  // The messages by which members compare their calls.
  uint64_t digest;
  std::vector<uint64_t> digests;
  std::vector<Message> toFirst, fromFirst;
};

} // namespace meshwright::runtime::processes

#endif
