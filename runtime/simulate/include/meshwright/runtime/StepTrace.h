//===- StepTrace.h - a step as it went --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_STEPTRACE_H
#define MESHWRIGHT_RUNTIME_STEPTRACE_H

#include "meshwright/runtime/StepSpan.h"

namespace meshwright::runtime {

/// A step as it went, on all ranks. Times are seconds from when the first rank began it. Ranks of one host share a
/// clock; those of different hosts are as far apart as their system clocks. On CPUs, copies between the memories that
/// were started do not say when they took place, waiting for them does.
struct StepTrace {
  double seconds = 0;
  std::vector<StepSpan> spans;
};

/// Runs a step as `Session::step` does, and traces it; on the first process it returns the trace, on others an empty
/// one.
Result<StepTrace> traceStep(Session &session);

} // namespace meshwright::runtime

#endif
