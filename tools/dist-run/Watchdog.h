//===- Watchdog.h - ends what does not end by itself ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_WATCHDOG_H
#define MESHWRIGHT_TOOLS_DISTRUN_WATCHDOG_H

#include "meshwright/runtime/Status.h"
#include <functional>
#include <mutex>
#include <thread>

namespace meshwright::tool {

/// A thread beside the run. Where a rank has failed and the process has not come to its end some seconds later, because
/// another rank's thread never returns, it ends the process. And it acts on signals at once, which the run itself does
/// between steps only.
class Watchdog {
public:
  /// `end` is called, and the process ended, so many seconds after a failure; `interrupt` is called after a signal.
  Watchdog(double patience, std::function<void(const runtime::Status &)> end, std::function<void()> interrupt);
  /// The run has come to its end.
  ~Watchdog();

  /// A rank has failed. From any thread; the first failure counts.
  void fail(const runtime::Status &status);

private:
  void serve();

  double patience;
  std::function<void(const runtime::Status &)> end;
  std::function<void()> interrupt;
  std::mutex mutex;
  runtime::Status failure;
  bool isOver = false;
  int wake = -1;
  std::thread thread;
};

} // namespace meshwright::tool

#endif
