//===- Mirrors.h - the host's copies of what devices hold -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SESSION_MIRRORS_H
#define MESHWRIGHT_RUNTIME_SESSION_MIRRORS_H

#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/Executor.h"
#include "meshwright/runtime/ValueSet.h"
#include <map>

namespace meshwright::runtime {

/// Host copies of a session's values, for those ranks of this process whose memory the host does not reach. Arrays that
/// the host writes go to the device before the next step; arrays that a step wrote come back at the first read. A copy
/// that is never touched takes no memory.
class Mirrors {
public:
  explicit Mirrors(RankRange ranks) : ranks(ranks), copies(ranks.size()) {}

  /// The array of a rank in the host's memory: the array itself if the host reaches it, else a copy.
  Result<std::span<std::byte>> add(const ValueSet &set, size_t i, int64_t rank, Executor &executor, int32_t buffer);
  /// The host has written the arrays of a value.
  void noteWritten(const ValueSet &set, size_t i);
  /// A step was run, after which the devices have the values of the set.
  void noteComputed(const ValueSet &set);
  /// Sends what the host has written to a rank's device; on the rank's thread.
  Status push(int64_t rank);
  /// Fetches a value of a rank from its device, unless the host has it.
  Status pull(const ValueSet &set, size_t i, int64_t rank);
  /// The same for all ranks of this process.
  Status pull(const ValueSet &set, size_t i);

private:
  enum class Newer { Neither, Host, Device };
  struct Copy {
    Executor *executor;
    int32_t buffer;
    uint64_t bytes;
    Arena memory;
    Newer newer = Newer::Device;
    std::span<std::byte> getArray() const { return {memory.data(), bytes}; }
  };
  using Key = std::pair<const ValueSet *, size_t>;

  RankRange ranks;
  /// By rank.
  std::vector<std::map<Key, Copy>> copies;
};

} // namespace meshwright::runtime

#endif
