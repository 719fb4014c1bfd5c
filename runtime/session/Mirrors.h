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

/// Of the values of a session, the arrays of those ranks of this process whose memory the host does not reach. What the
/// host writes goes to the device before the next step, what a step wrote comes back when somebody asks for it. A copy
/// that nobody touches takes no memory.
class Mirrors {
public:
  explicit Mirrors(RankRange ranks) : ranks(ranks), copies(ranks.size()) {}

  /// Where the host has the array of a rank: the array itself where it reaches it, else a copy.
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
