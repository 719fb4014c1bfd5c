//===- RunEnd.h - how a run of several processes ends -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process fails, and the others end because of it. The failure is said once as an error: by the process that
// failed, or, where that one died or does not answer, by the first of the others. These say that they follow. Each
// tells its launcher which process it was, so that the run ends with its name and its exit status.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_RUNEND_H
#define MESHWRIGHT_TOOLS_DISTRUN_RUNEND_H

#include "meshwright/runtime/World.h"
#include <vector>

namespace meshwright::tool {

/// The descriptor on which processes tell their launcher why they end.
inline constexpr const char *kReportVariable = "MESHWRIGHT_REPORT";

/// Why a process ended, as it crosses the pipe. `failed` is -1 where no process has failed.
struct EndReport {
  int32_t process, failed, isSilent;
};

/// Says the error of this process, or that it follows from another one's, and tells the launcher.
void sayFailure(const runtime::World &world, const runtime::Status &status);

/// A process of the launcher, and how it ended.
struct EndedProcess {
  int64_t process;
  /// As waitpid says it.
  int status;
  /// The launcher has killed it, after others had failed.
  bool isKilled;
};

/// The end of a run: the exit status and the message still to be printed; empty if processes have printed it.
struct RunEnd {
  int code = 0;
  std::string message;
};
RunEnd judgeEnd(const std::vector<EndedProcess> &ended, const std::vector<EndReport> &reports);

} // namespace meshwright::tool

#endif
