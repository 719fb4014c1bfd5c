//===- ScopeRanges.h - what a rank issues, as nested ranges -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profilers show what is issued inside of ranges. A task is a range, and so is each component of an instruction's name:
//
//   step │ transformer │ h │ 3 │ attn │ c_attn ▏ softmax ▏   of transformer.h.3.attn.c_attn,
//   transformer.h.3.attn.softmax
//
// From one instruction to the next only what differs is closed and opened.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTE_SCOPERANGES_H
#define MESHWRIGHT_RUNTIME_EXECUTE_SCOPERANGES_H

#include "meshwright/runtime/Device.h"
#include <string>

namespace meshwright::runtime {

/// The components of a name: `a.b` has two, `a\.b` is one.
std::vector<std::string> splitScopes(std::string_view name);

class ScopeRanges {
public:
  /// Does nothing if no profiler shows the device's ranges.
  ScopeRanges(Device &device, const Program &program);
  /// The rank comes to an instruction of a task.
  void enter(const Task &task, const Instruction &instruction);
  /// The step has been issued.
  void leave();

private:
  using Path = std::vector<std::string>;
  void open(const Path &path, size_t common);

  Device &device;
  /// Task first. Made before the first step, as steps make nothing.
  std::map<const Instruction *, Path> paths;
  const Task *task = nullptr;
  const Path *current = nullptr;
};

} // namespace meshwright::runtime

#endif
