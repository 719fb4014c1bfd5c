//===- ScopeRanges.cpp - what a rank issues, as nested ranges -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScopeRanges.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

std::vector<std::string> meshwright::runtime::splitScopes(std::string_view name) {
  std::vector<std::string> components(1);
  for (size_t i = 0; i != name.size(); ++i) {
    if (name[i] == '.')
      components.emplace_back();
    else if (name[i] == '\\' && i + 1 != name.size())
      components.back() += name[++i];
    else
      components.back() += name[i];
  }
  return components;
}

ScopeRanges::ScopeRanges(Device &device, const Program &program) : device(device) {
  if (!device.showsRanges())
    return;
  for (const Task &owner : program.tasks())
    for (const Instruction &instruction : owner.instructions()) {
      Path &path = paths[&instruction];
      path = splitScopes(instruction.name());
      path.insert(path.begin(), owner.name());
    }
}

void ScopeRanges::open(const Path &path, size_t common) {
  for (size_t i = current ? current->size() : 0; i != common; --i)
    device.popRange();
  for (size_t i = common; i != path.size(); ++i)
    device.pushRange(path[i].c_str());
}

void ScopeRanges::enter(const Task &newTask, const Instruction &instruction) {
  auto path = paths.find(&instruction);
  if (path == paths.end())
    return;
  size_t common = 0;
  // Two runs of a task are two ranges.
  if (current && &newTask == task)
    common = static_cast<size_t>(
        std::mismatch(current->begin(), current->end(), path->second.begin(), path->second.end()).first -
        current->begin());
  open(path->second, common);
  task = &newTask;
  current = &path->second;
}

void ScopeRanges::leave() {
  open({}, 0);
  task = nullptr;
  current = nullptr;
}
