//===- CollectiveTags.h - which collective a Wait means ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COLLECTIVETAGS_H
#define MESHWRIGHT_RUNTIME_COLLECTIVETAGS_H

#include "package.pb.h"
#include <map>
#include <optional>
#include <vector>

namespace meshwright::runtime {

/// The started collectives of a program by their tags. A task may wait for what it starts, or leave that to another
/// task. Starts and waits that belong together have one *flight*; with the micro-batch it names what is under way.
class CollectiveTags {
public:
  explicit CollectiveTags(const Program &program);

  /// The flight of what `task` starts with that tag.
  uint32_t getStarted(uint32_t task, uint32_t tag) const;
  /// The flight that a Wait in `task` means: that of the task's own start or, where it has none, that of the one action
  /// that starts the tag and does not wait. Nothing where there is no such action, or several.
  std::optional<uint32_t> findWaited(uint32_t task, uint32_t tag) const;
  /// True if the task itself waits for the collective that it starts with that tag.
  bool isOwn(uint32_t task, uint32_t tag) const { return own.contains({task, tag}); }
  /// The number of actions that start the tag and leave the wait to another action.
  size_t countActions(uint32_t tag) const;

  /// A task that starts a flight; variants of one action do so for the same micro-batches.
  uint32_t getTask(uint32_t flight) const { return tasks[flight]; }

private:
  std::vector<uint32_t> actions;
  /// Flights of starts by task and tag, where the task waits itself.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> own;
  /// Flights of the others, by tag, then by action: variants of an action share one.
  std::map<uint32_t, std::map<uint32_t, uint32_t>> left;
  /// By flight.
  std::vector<uint32_t> tasks;
};

} // namespace meshwright::runtime

#endif
