//===- CollectiveTags.cpp - which collective a Wait means -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/CollectiveTags.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

CollectiveTags::CollectiveTags(const Program &program) {
  for (const Task &task : program.tasks()) {
    auto number = static_cast<uint32_t>(actions.size());
    actions.push_back(task.action());
    std::set<uint32_t> waited;
    for (const Instruction &instruction : task.instructions())
      if (instruction.has_wait())
        waited.insert(instruction.wait().tag());
    for (const Instruction &instruction : task.instructions()) {
      if (!instruction.collective().start())
        continue;
      uint32_t tag = instruction.collective().tag();
      auto flight = static_cast<uint32_t>(tasks.size());
      if (waited.contains(tag) ? own.try_emplace({number, tag}, flight).second
                               : left[tag].try_emplace(task.action(), flight).second)
        tasks.push_back(number);
    }
  }
}

uint32_t CollectiveTags::getStarted(uint32_t task, uint32_t tag) const {
  auto found = own.find({task, tag});
  return found != own.end() ? found->second : left.at(tag).at(actions[task]);
}

std::optional<uint32_t> CollectiveTags::findWaited(uint32_t task, uint32_t tag) const {
  if (auto found = own.find({task, tag}); found != own.end())
    return found->second;
  auto found = left.find(tag);
  return found != left.end() && found->second.size() == 1 ? std::optional(found->second.begin()->second) : std::nullopt;
}

size_t CollectiveTags::countActions(uint32_t tag) const {
  auto found = left.find(tag);
  return found == left.end() ? 0 : found->second.size();
}
