//===- CollectiveTags.h - which collective a Wait means ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_LIB_COLLECTIVETAGS_H
#define MESHWRIGHT_RUNTIME_LIB_COLLECTIVETAGS_H

#include "package.pb.h"
#include <map>
#include <vector>

namespace meshwright::runtime {

/// The collectives of a program by their tags. Tasks are variants of one step, so several may have a collective of one
/// tag: a Wait means that of its own task or, where it has none, the only one of the others.
class CollectiveTags {
public:
  explicit CollectiveTags(const Program &program) {
    for (int task = 0; task != program.tasks_size(); ++task)
      for (const Instruction &instruction : program.tasks(task).instructions())
        if (instruction.has_collective())
          collectives[instruction.collective().tag()].emplace(task, &instruction.collective());
  }

  /// What a Wait in `task` means; null where nothing or several have the tag.
  const Collective *find(uint32_t task, uint32_t tag) const {
    auto found = collectives.find(tag);
    if (found == collectives.end())
      return nullptr;
    auto own = found->second.find(static_cast<int>(task));
    if (own != found->second.end())
      return own->second;
    return found->second.size() == 1 ? found->second.begin()->second : nullptr;
  }

  /// How many tasks have a collective of that tag.
  size_t count(uint32_t tag) const {
    auto found = collectives.find(tag);
    return found == collectives.end() ? 0 : found->second.size();
  }

private:
  /// By tag, then by task.
  std::map<uint32_t, std::map<int, const Collective *>> collectives;
};

} // namespace meshwright::runtime

#endif
